// A complete bot for the line protocol (docs/protocol.md) in C++17, with nothing but the standard library.
//
//     g++ -O2 -std=c++17 examples/bots/bot.cpp -o bot
//     gin evaluate "cmd:./bot" simple --games 200
//
// Make it yours in `choose`; everything else can stay as it is.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>

// ---- JSON, as far as the protocol needs it: its texts hold nothing to escape, so they are places in the line that was read.

struct Json {
    std::string_view text;               // a text; a number or a word (true, false, null) as it was written
    std::vector<Json> items;             // the items of an array, the values of an object
    std::vector<std::string_view> keys;  // the keys of an object, in the order of its values

    const Json &operator[](std::string_view key) const {
        static const Json missing;
        auto found = std::find(keys.begin(), keys.end(), key);
        return found == keys.end() ? missing : items[found - keys.begin()];
    }
};

struct JsonReader {
    const char *at;  // the text ends with a zero, which no branch below steps over

    void blanks() {
        while (*at == ' ' || *at == ',' || *at == ':') at++;
    }
    std::string_view string() {
        const char *start = ++at;
        while (*at && *at != '"') at++;
        return {start, size_t((*at ? at++ : at) - start)};
    }
    Json value() {
        Json json;
        blanks();
        if (*at == '"') {
            json.text = string();
        } else if (*at == '[' || *at == '{') {
            char close = *at == '[' ? ']' : '}';
            for (at++, blanks(); *at && *at != close; blanks()) {
                if (close == '}') json.keys.push_back(string());
                json.items.push_back(value());
            }
            if (*at) at++;
        } else {
            const char *start = at;
            while (*at && *at != ',' && *at != ']' && *at != '}') at++;
            json.text = {start, size_t(at - start)};
        }
        return json;
    }
};

// ---- Cards are numbers, 13 * suit + rank; hands are sets of bits.

using Cards = std::uint64_t;
const std::string RANKS = "A23456789TJQK", SUITS = "SCDH";

int card(std::string_view name) { return 13 * int(SUITS.find(name[1])) + int(RANKS.find(name[0])); }
int value(int card) { return std::min(10, card % 13 + 1); }
Cards bit(int card) { return Cards(1) << card; }

Cards cards(const Json &names) {
    Cards all = 0;
    for (const Json &name : names.items) all |= bit(card(name.text));
    return all;
}

int points(Cards hand) {
    int sum = 0;
    for (; hand; hand &= hand - 1) sum += value(__builtin_ctzll(hand));
    return sum;
}

// All sets of three or four and all runs of three to five; a longer run is two of these.
std::vector<Cards> all_melds() {
    std::vector<Cards> melds;
    for (int rank = 0; rank < 13; rank++) {
        Cards four = bit(rank) | bit(13 + rank) | bit(26 + rank) | bit(39 + rank);
        melds.push_back(four);
        for (int suit = 0; suit < 4; suit++) melds.push_back(four & ~bit(13 * suit + rank));
    }
    for (int length = 3; length <= 5; length++)
        for (int suit = 0; suit < 4; suit++)
            for (int low = 0; low + length <= 13; low++) melds.push_back(((Cards(1) << length) - 1) << (13 * suit + low));
    return melds;
}
const std::vector<Cards> MELDS = all_melds();

// Most points of a hand in melds that do not overlap, of those from a place in the list on.
int melded(Cards hand, const std::vector<Cards> &melds, size_t from) {
    int best = 0;
    for (size_t i = from; i < melds.size(); i++)
        if ((hand & melds[i]) == melds[i]) best = std::max(best, points(melds[i]) + melded(hand & ~melds[i], melds, i + 1));
    return best;
}

int deadwood(Cards hand) {
    std::vector<Cards> held;
    for (Cards meld : MELDS)
        if ((hand & meld) == meld) held.push_back(meld);
    return points(hand) - melded(hand, held, 0);
}

// ---- What is remembered of one hand: the events tell it.

struct Book {
    Cards gone = 0;    // cards on the pile, which nobody gets back as long as they lie there
    Cards wanted = 0;  // cards that the opponent took from the pile

    void note(const Json &event) {
        std::string_view what = event["event"].text;
        Cards one = event["card"].text.empty() ? 0 : bit(card(event["card"].text));
        if (what == "deal") *this = Book();
        if (what == "discard") {
            gone |= one;
            wanted &= ~one;
        } else if (what == "take") {
            gone &= ~one;
            if (event["who"].text == "opponent") wanted |= one;
        }
    }
};

// ---- The strategy.

// In how many melds of three this card goes with a card of a set, as long as none of the three is gone.
int links(int card, Cards with, Cards gone) {
    int count = 0;
    for (Cards meld : MELDS)
        if ((meld & bit(card)) && (meld & with) && !(meld & gone) && __builtin_popcountll(meld) == 3) count++;
    return count;
}

// Knocks as soon as possible; else keeps what is or may become a meld, and what the opponent seems to collect.
std::string_view discard(const std::vector<Json> &legal, Cards hand, const Book &book) {
    std::string_view best;
    int least = 1 << 30;
    for (const Json &action : legal) {
        int out = card(action.text.substr(action.text.size() - 2));
        Cards rest = hand & ~bit(out);
        int cost = 4 * deadwood(rest) + 2 * links(out, rest, book.gone) + 6 * links(out, book.wanted, book.gone | rest);
        if (action.text[0] == 'k') cost -= 10000;
        if (cost < least) best = action.text;
        least = std::min(least, cost);
    }
    return best;
}

// The action for one game: one of game["legal"].
std::string_view choose(const Json &game, const Book &book) {
    std::string_view phase = game["phase"].text;
    const std::vector<Json> &legal = game["legal"].items;
    Cards hand = cards(game["hand"]);
    if (phase == "discard") return discard(legal, hand, book);
    if (phase == "layoff") {
        for (const Json &action : legal)
            if (action.text != "done" && deadwood(hand & ~bit(card(action.text.substr(8)))) < deadwood(hand)) return action.text;
        return "done";
    }
    // The upcard if it goes into a meld; else the stock, or to pass; or a spread: the first is as good as any.
    size_t take = 0;
    while (take < legal.size() && legal[take].text != "take") take++;
    if (take == legal.size()) return legal[0].text;
    int upcard = card(game["upcard"].text);
    bool useful = deadwood(hand | bit(upcard)) < deadwood(hand) + value(upcard);
    return legal[useful || legal.size() == 1 ? take : take == 0].text;
}

int main() {
    std::ios::sync_with_stdio(false);
    std::unordered_map<std::string, Book> books;  // by slot
    for (std::string line; std::getline(std::cin, line);) {
        Json message = JsonReader{line.c_str()}.value();
        if (message["type"].text == "bye") break;
        if (message["type"].text == "hello") {
            std::cout << R"({"type":"ready","protocol":2,"name":"C++ example"})" << std::endl;
            continue;
        }
        std::string answers;
        for (const Json &game : message["games"].items) {
            Book &book = books[std::string(game["slot"].text)];
            for (const Json &event : game["events"].items) book.note(event);
            if (game["legal"].items.empty()) continue;
            if (!answers.empty()) answers += ',';
            answers.append(R"({"slot":)").append(game["slot"].text).append(R"(,"action":")").append(choose(game, book)).append(R"("})");
        }
        std::cout << R"({"type":"answers","id":)" << message["id"].text << R"(,"answers":[)" << answers << "]}" << std::endl;
    }
}
