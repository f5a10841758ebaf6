package ginrummy;

/** A stand-in for the challenge's cards, for tests of the host. */
public class Card {
    private static final Card[] ALL = new Card[52];

    static {
        for (int id = 0; id < 52; id++) ALL[id] = new Card(id % 13, id / 13);
    }

    /** From 0 (ace) to 12 (king). */
    public final int rank;
    /** From 0 to 3: clubs, hearts, spades, diamonds. */
    public final int suit;

    private Card(int rank, int suit) {
        this.rank = rank;
        this.suit = suit;
    }

    public static Card getCard(int id) {
        return ALL[id];
    }

    public static Card getCard(int rank, int suit) {
        return ALL[13 * suit + rank];
    }

    public int getId() {
        return 13 * suit + rank;
    }

    @Override
    public String toString() {
        return "" + "A23456789TJQK".charAt(rank) + "CHSD".charAt(suit);
    }
}
