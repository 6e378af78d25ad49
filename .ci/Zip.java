import java.io.FileInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;

/** Reads all of an archive twice: by its directory, and as a stream, which knows only the records before the members. */
public class Zip {
    static long read(java.io.InputStream in) throws java.io.IOException {
        byte[] block = new byte[1 << 16];
        long length = 0;
        for (int count; (count = in.read(block)) > 0;) {
            length += count;
        }
        return length;
    }

    public static void main(String[] arguments) throws Exception {
        int members = 0;
        try (ZipFile file = new ZipFile(arguments[0])) {
            for (var entries = file.entries(); entries.hasMoreElements(); members++) {
                ZipEntry entry = entries.nextElement();
                if (read(file.getInputStream(entry)) != entry.getSize()) {
                    throw new Exception(entry.getName() + " has another length");
                }
            }
        }
        try (ZipInputStream in = new ZipInputStream(new FileInputStream(arguments[0]))) {
            for (; in.getNextEntry() != null; members--) {
                read(in);
            }
        }
        if (members != 0) {
            throw new Exception("the stream has other members than the directory");
        }
    }
}
