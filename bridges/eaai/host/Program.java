package host;

import host.Challenge.Fault;
import host.Challenge.Names;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/** The program that the arena talks to: a seat for each game, and a player's object in each seat or one in all of them. */
public final class Program {
    private final Names names;
    private final boolean ownClasses;
    private final int maxBatch;
    private final Map<String, Seat> seats = new HashMap<>();
    /** Slots in a hand, and those between two hands or after the last one, longest first. */
    private final Set<String> playing = new HashSet<>(), waiting = new LinkedHashSet<>();
    private int mostPlaying;
    private final Deque<Challenge> free = new ArrayDeque<>();
    private final Seat[] only;
    private Object first;
    private String unheard;

    /**
     * @param names of the classes
     * @param oneObject whether one object plays all games
     * @param ownClasses whether each game has its own copy of the classes
     * @param maxBatch games in one line at most; 0 for as many as the arena likes
     * @throws Challenge.Misuse if the classes cannot be played with
     */
    public Program(Names names, boolean oneObject, boolean ownClasses, int maxBatch) {
        this.names = names;
        this.ownClasses = ownClasses;
        this.maxBatch = maxBatch;
        only = oneObject ? new Seat[1] : null;
        free.push(newChallenge());
        try {
            // Made now: a class that cannot be played with is better found before the first game.
            first = free.peek().newPlayer();
        } catch (Fault problem) {
            throw new Challenge.Misuse(problem.getMessage());
        }
    }

    private Challenge newChallenge() {
        if (!ownClasses) return new Challenge(names, Program.class.getClassLoader());
        List<URL> places = new ArrayList<>();
        try {
            for (String place : System.getProperty("java.class.path").split(File.pathSeparator)) places.add(new File(place).toURI().toURL());
        } catch (MalformedURLException problem) {
            throw new Challenge.Misuse("the class path cannot be read: " + problem.getMessage());
        }
        return new Challenge(names, new URLClassLoader(places.toArray(new URL[0]), ClassLoader.getPlatformClassLoader()));
    }

    private Seat newSeat() {
        Challenge challenge = ownClasses ? (free.isEmpty() ? newChallenge() : free.pop()) : free.peek();
        try {
            Object player = first != null ? first : challenge.newPlayer();
            if (only == null) first = null;
            return new Seat(challenge, player, null, only);
        } catch (Fault problem) {
            return new Seat(challenge, null, problem.getMessage(), only);
        }
    }

    /** The line of answer to a message; null if the program is to end. */
    public String answer(Map<String, Object> message) {
        if (message.get("type").equals("hello"))
            return "{\"type\":\"ready\",\"protocol\":2,\"name\":" + Json.quoted(names.entry)
                    + (maxBatch > 0 ? ",\"max_batch\":" + maxBatch : "") + "}";
        StringJoiner answers = new StringJoiner(",", "[", "]");
        for (Map<String, Object> game : Json.objects(message.get("games"))) {
            String slot = (String) game.get("slot");
            for (Map<String, Object> event : Json.objects(game.get("events"))) hear(slot, event);
            if (game.containsKey("legal"))
                answers.add("{\"slot\":" + slot + ",\"action\":" + Json.quoted(seats.get(slot).answer(game)) + "}");
        }
        if (message.get("type").equals("bye")) return null;
        return "{\"type\":\"answers\",\"id\":" + message.get("id") + ",\"answers\":" + answers + "}";
    }

    private void hear(String slot, Map<String, Object> event) {
        boolean deal = event.get("event").equals("deal");
        if (deal && !seats.containsKey(slot)) seats.put(slot, newSeat());
        Seat seat = seats.get(slot);
        seat.hear(event);
        if (deal) {
            waiting.remove(slot);
            playing.add(slot);
            mostPlaying = Math.max(mostPlaying, playing.size());
        } else if (event.get("event").equals("hand over")) {
            playing.remove(slot);
            waiting.add(slot);
            if (event.get("target_reached").equals("true")) forget(slot);
            // Nobody says that a slot is not used again. Of those that are, no more can wait than games are played at once.
            if (waiting.size() > 2 * mostPlaying + 64) forget(waiting.iterator().next());
        }
    }

    private void forget(String slot) {
        waiting.remove(slot);
        Seat seat = seats.remove(slot);
        if (seat.fault() != null) unheard = seat.fault();
        if (ownClasses) free.push(seat.challenge);
    }

    /** Whether something went wrong that no question was left to tell the arena about; then the last words are about it. */
    public boolean unheard() {
        for (Seat seat : seats.values()) if (seat.fault() != null) unheard = seat.fault();
        if (unheard != null) System.err.println("after the last question: " + unheard);
        return unheard != null;
    }
}
