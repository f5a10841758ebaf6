package host;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * Looks for static fields that can change among the classes that a player refers to. Two games that share such a field disturb each other, which
 * costs points without a fault.
 */
public final class Statics {
    /** The challenge's own classes: their tables of cards and melds are static, and stay as they are. */
    private static final Set<String> CHALLENGE = Set.of("Card", "GinRummyGame", "GinRummyPlayer", "GinRummyUtil");

    private Statics() {}

    /** A static field that can change, such as their.Estimator.hands; null if there is none. */
    public static String changing(Challenge.Names names) {
        ClassLoader loader = Statics.class.getClassLoader();
        Deque<String> waiting = new ArrayDeque<>(Set.of(names.entry));
        Set<String> seen = new HashSet<>(waiting);
        while (!waiting.isEmpty()) {
            String name = waiting.pop();
            String simple = name.substring(name.lastIndexOf('.') + 1).split("\\$")[0];
            try (InputStream file = loader.getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (file == null || name.startsWith("java.") || CHALLENGE.contains(simple)) continue;
                for (Field field : Class.forName(name, false, loader).getDeclaredFields()) if (canChange(field)) return name + "." + field.getName();
                for (String other : references(new DataInputStream(file))) if (seen.add(other)) waiting.push(other);
            } catch (IOException | ClassNotFoundException | LinkageError problem) {
                // What cannot be read here is named when it is needed.
            }
        }
        return null;
    }

    private static boolean canChange(Field field) {
        if (!Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) return false;
        Class<?> type = field.getType();
        boolean constant = type.isPrimitive() || type.isEnum() || type == String.class || Number.class.isAssignableFrom(type);
        return !Modifier.isFinal(field.getModifiers()) || !constant;
    }

    /** The classes that a class file names, by its table of constants (Java Virtual Machine Specification, 4.4). */
    private static Set<String> references(DataInputStream file) throws IOException {
        file.skipBytes(8);
        int count = file.readUnsignedShort();
        String[] texts = new String[count];
        Set<Integer> classes = new HashSet<>();
        for (int i = 1; i < count; i++) {
            int tag = file.readUnsignedByte();
            if (tag == 1) texts[i] = file.readUTF();
            else if (tag == 7) classes.add(file.readUnsignedShort());
            else file.skipBytes(tag == 15 ? 3 : tag == 8 || tag == 16 || tag == 19 || tag == 20 ? 2 : tag == 5 || tag == 6 ? 8 : 4);
            // A long or a double takes two places.
            if (tag == 5 || tag == 6) i++;
        }
        Set<String> names = new HashSet<>();
        for (int index : classes) if (!texts[index].startsWith("[")) names.add(texts[index].replace('/', '.'));
        return names;
    }
}
