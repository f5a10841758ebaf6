package host;

import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/** Cards are the challenge's numbers, 13 * suit + rank with suits in the order C H S D; hands are sets of bits. */
final class Cards {
    private static final String RANKS = "A23456789TJQK", SUITS = "CHSD";
    private static final long[] MELDS = allMelds();

    static int card(String name) {
        return 13 * SUITS.indexOf(name.charAt(1)) + RANKS.indexOf(name.charAt(0));
    }

    static String name(int card) {
        return "" + RANKS.charAt(card % 13) + SUITS.charAt(card / 13);
    }

    static String names(long set) {
        StringJoiner names = new StringJoiner(" ");
        for (; set != 0; set &= set - 1) names.add(name(Long.numberOfTrailingZeros(set)));
        return names.toString();
    }

    static long set(List<String> names) {
        long all = 0;
        for (String name : names) all |= 1L << card(name);
        return all;
    }

    static int points(long hand) {
        int sum = 0;
        for (; hand != 0; hand &= hand - 1) sum += Math.min(10, Long.numberOfTrailingZeros(hand) % 13 + 1);
        return sum;
    }

    static boolean isMeld(long cards) {
        for (long meld : MELDS) if (meld == cards) return true;
        return false;
    }

    /** The melds of a hand that leave the least deadwood. */
    static List<Long> bestMelds(long hand) {
        return bestMelds(hand, 0);
    }

    private static List<Long> bestMelds(long hand, int from) {
        List<Long> best = new ArrayList<>();
        int most = 0;
        for (int i = from; i < MELDS.length; i++) {
            if ((hand & MELDS[i]) != MELDS[i]) continue;
            List<Long> melds = bestMelds(hand & ~MELDS[i], i + 1);
            melds.add(0, MELDS[i]);
            int points = melds.stream().mapToInt(Cards::points).sum();
            if (points > most) {
                most = points;
                best = melds;
            }
        }
        return best;
    }

    /** All sets of three or four and all runs of three or more. */
    private static long[] allMelds() {
        List<Long> melds = new ArrayList<>();
        for (int rank = 0; rank < 13; rank++) {
            long four = 1L << rank | 1L << 13 + rank | 1L << 26 + rank | 1L << 39 + rank;
            melds.add(four);
            for (int suit = 0; suit < 4; suit++) melds.add(four & ~(1L << 13 * suit + rank));
        }
        for (int length = 3; length <= 13; length++)
            for (int suit = 0; suit < 4; suit++)
                for (int low = 0; low + length <= 13; low++) melds.add((1L << length) - 1 << 13 * suit + low);
        return melds.stream().mapToLong(meld -> meld).toArray();
    }
}
