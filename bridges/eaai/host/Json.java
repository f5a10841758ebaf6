package host;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON, as far as the protocol needs it: the texts that a program reads hold nothing to escape. The example in
 * examples/bots/Bot.java has a reader like this one within its one file; a fault found in one is to be mended in both.
 */
public final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** A Map, a List or a String; numbers and words (true, false, null) are Strings, as they were written. */
    public static Object read(String line) {
        return new Json(line).value();
    }

    @SuppressWarnings("unchecked")
    public static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> objects(Object value) {
        return (List<Map<String, Object>>) value;
    }

    @SuppressWarnings("unchecked")
    static List<String> texts(Object value) {
        return (List<String>) value;
    }

    /** A text with quotation marks around it. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') quoted.append('\\').append(c);
            else quoted.append(c < ' ' || Character.isSurrogate(c) ? ' ' : c);
        }
        return quoted.append('"').toString();
    }

    private char next() {
        while (at < text.length() && " ,:".indexOf(text.charAt(at)) >= 0) at++;
        return at < text.length() ? text.charAt(at) : '}';
    }

    private Object value() {
        char first = next();
        if (first == '"') return string();
        if (first == '[') {
            List<Object> items = new ArrayList<>();
            for (at++; next() != ']' && at < text.length(); ) items.add(value());
            at++;
            return items;
        }
        if (first == '{') {
            Map<String, Object> fields = new HashMap<>();
            for (at++; next() != '}'; ) fields.put(string(), value());
            at++;
            return fields;
        }
        int start = at;
        while (at < text.length() && ",]}".indexOf(text.charAt(at)) < 0) at++;
        return text.substring(start, at);
    }

    private String string() {
        int start = at + 1;
        at = text.indexOf('"', start) + 1;
        return text.substring(start, at - 1);
    }
}
