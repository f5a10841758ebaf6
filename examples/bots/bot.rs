// A complete bot for the line protocol (docs/protocol.md) in Rust, with nothing but the standard library.
//
//     rustc -O examples/bots/bot.rs -o bot
//     gin evaluate "cmd:./bot" simple --games 200
//
// Make it yours in `choose`; everything else can stay as it is.

use std::collections::HashMap;
use std::io::{stdin, stdout, BufRead, Result, Write};

// ---- JSON, as far as the protocol needs it: its texts hold nothing to escape.

#[derive(Default)]
struct Json<'a> {
    text: &'a str,        // a text; a number or a word (true, false, null) as it was written
    items: Vec<Json<'a>>, // the items of an array, the values of an object
    keys: Vec<&'a str>,   // the keys of an object, in the order of its values
}

impl<'a> Json<'a> {
    /// Reads a value and steps over it.
    fn read(from: &mut &'a str) -> Json<'a> {
        let mut json = Json::default();
        let start = from.trim_start_matches([' ', ',', ':']);
        if let Some(rest) = start.strip_prefix('"') {
            (json.text, *from) = rest.split_once('"').unwrap_or((rest, ""));
        } else if start.starts_with(['[', '{']) {
            *from = &start[1..];
            while !from.is_empty() && !from.starts_with([']', '}']) {
                if start.starts_with('{') {
                    json.keys.push(Json::read(from).text);
                }
                json.items.push(Json::read(from));
            }
            *from = from.get(1..).unwrap_or("");
        } else {
            (json.text, *from) = start.split_at(start.find([',', ']', '}']).unwrap_or(start.len()));
        }
        json
    }

    fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.keys.iter().position(|other| *other == key).map(|i| &self.items[i])
    }

    fn text(&self, key: &str) -> &'a str {
        self.get(key).map_or("", |found| found.text)
    }

    fn items(&self, key: &str) -> &[Json<'a>] {
        self.get(key).map_or(&[], |found| &found.items)
    }
}

// ---- Cards are numbers, 13 * suit + rank; hands are sets of bits.

fn card(name: &str) -> u64 {
    let rank = "A23456789TJQK".find(&name[..1]).unwrap();
    13 * "SCDH".find(&name[1..]).unwrap() as u64 + rank as u64
}

fn value(card: u64) -> u32 {
    (card as u32 % 13 + 1).min(10)
}

fn points(mut hand: u64) -> u32 {
    let mut sum = 0;
    while hand != 0 {
        sum += value(u64::from(hand.trailing_zeros()));
        hand &= hand - 1;
    }
    sum
}

/// All sets of three or four and all runs of three to five; a longer run is two of these.
fn all_melds() -> Vec<u64> {
    let mut melds = Vec::new();
    for rank in 0..13 {
        let four = 1 << rank | 1 << (13 + rank) | 1 << (26 + rank) | 1 << (39 + rank);
        melds.push(four);
        melds.extend((0..4).map(|suit| four & !(1 << (13 * suit + rank))));
    }
    for length in 3..=5 {
        for suit in 0..4 {
            melds.extend((0..=13 - length).map(|low| ((1 << length) - 1) << (13 * suit + low)));
        }
    }
    melds
}

/// Most points of a hand in melds that do not overlap.
fn melded(hand: u64, melds: &[u64]) -> u32 {
    let fit = (0..melds.len()).filter(|&i| hand & melds[i] == melds[i]);
    fit.map(|i| points(melds[i]) + melded(hand & !melds[i], &melds[i + 1..])).max().unwrap_or(0)
}

fn deadwood(hand: u64, melds: &[u64]) -> u32 {
    let held: Vec<u64> = melds.iter().copied().filter(|meld| hand & meld == *meld).collect();
    points(hand) - melded(hand, &held)
}

// ---- What is remembered of one hand: the events tell it.

#[derive(Default)]
struct Book {
    gone: u64,   // cards on the pile, which nobody gets back as long as they lie there
    wanted: u64, // cards that the opponent took from the pile
}

impl Book {
    fn note(&mut self, event: &Json) {
        let one = event.get("card").map_or(0, |name| 1 << card(name.text));
        match (event.text("event"), event.text("who")) {
            ("deal", _) => *self = Book::default(),
            ("discard", _) => (self.gone, self.wanted) = (self.gone | one, self.wanted & !one),
            ("take", "opponent") => (self.gone, self.wanted) = (self.gone & !one, self.wanted | one),
            ("take", _) => self.gone &= !one,
            _ => (),
        }
    }
}

// ---- The strategy.

/// In how many melds of three this card goes with a card of a set, as long as none of the three is gone.
fn links(card: u64, with: u64, gone: u64, melds: &[u64]) -> u32 {
    let fits = |m: u64| m >> card & 1 == 1 && m.count_ones() == 3 && m & gone == 0 && m & with != 0;
    melds.iter().filter(|&&meld| fits(meld)).count() as u32
}

/// What giving up a card costs: what is or may become a meld, and what the opponent seems to collect. A knock is worth more.
fn cost(action: &str, hand: u64, book: &Book, melds: &[u64]) -> i32 {
    let out = card(&action[action.len() - 2..]);
    let rest = hand & !(1 << out);
    let own = 4 * deadwood(rest, melds) + 2 * links(out, rest, book.gone, melds);
    let given = 6 * links(out, book.wanted, book.gone | rest, melds);
    (own + given) as i32 - if action.starts_with("knock") { 10000 } else { 0 }
}

/// The action for one game: one of its "legal".
fn choose<'a>(game: &Json<'a>, book: &Book, melds: &[u64]) -> &'a str {
    let legal: Vec<&str> = game.items("legal").iter().map(|action| action.text).collect();
    let hand = game.items("hand").iter().fold(0, |all, name| all | 1 << card(name.text));
    let now = deadwood(hand, melds);
    match game.text("phase") {
        "discard" => legal.into_iter().min_by_key(|action| cost(action, hand, book, melds)).unwrap(),
        "layoff" => {
            let less = |action: &&&str| **action != "done" && deadwood(hand & !(1 << card(&action[8..])), melds) < now;
            legal.iter().find(less).unwrap_or(&"done")
        }
        // The upcard if it goes into a meld; else the stock, or to pass; or a spread: the first is as good as any.
        _ => {
            let fits = |upcard: u64| deadwood(hand | 1 << upcard, melds) < now + value(upcard);
            if legal.contains(&"take") && fits(card(game.text("upcard"))) {
                return "take";
            }
            legal.iter().find(|action| **action != "take").unwrap_or(&"take")
        }
    }
}

fn main() -> Result<()> {
    let melds = all_melds();
    let mut books: HashMap<String, Book> = HashMap::new(); // by slot
    for line in stdin().lock().lines() {
        let line = line?;
        let message = Json::read(&mut line.as_str());
        match message.text("type") {
            "hello" => println!(r#"{{"type":"ready","protocol":2,"name":"Rust example"}}"#),
            "act" => {
                let mut answers = Vec::new();
                for game in message.items("games") {
                    let slot = game.text("slot");
                    let book = books.entry(slot.into()).or_default();
                    game.items("events").iter().for_each(|event| book.note(event));
                    if game.get("legal").is_some() {
                        answers.push(format!(r#"{{"slot":{slot},"action":"{}"}}"#, choose(game, book, &melds)));
                    }
                }
                println!(r#"{{"type":"answers","id":{},"answers":[{}]}}"#, message.text("id"), answers.join(","));
            }
            _ => break,
        }
        stdout().flush()?;
    }
    Ok(())
}
