package io.delta.storage;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Iterator;
import java.util.UUID;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Commits to a log on a local disk so that of several processes only one can write a version. Delta's own local store looks
 * whether the file exists, writes another and renames it over: who commits in between is overwritten without a word. A hard
 * link to a finished file is made whole or not at all, and never over another.
 */
public class ExclusiveLocalLogStore extends LocalLogStore {

    public ExclusiveLocalLogStore(Configuration configuration) {
        super(configuration);
    }

    public void write(Path path, Iterator actions, Boolean overwrite, Configuration configuration) throws IOException {
        if (overwrite.booleanValue()) {
            super.write(path, actions, overwrite, configuration);
            return;
        }
        java.nio.file.Path commit = Paths.get(path.toUri().getPath(), new String[0]);
        java.nio.file.Path finished = commit.resolveSibling("." + commit.getFileName() + "." + UUID.randomUUID() + ".tmp");
        try {
            OutputStream stream = Files.newOutputStream(finished, new java.nio.file.OpenOption[0]);
            try {
                while (actions.hasNext()) {
                    stream.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
                }
            } finally {
                stream.close();
            }
            try {
                // Fails with FileAlreadyExistsException, which is what Delta expects of a version that is taken.
                Files.createLink(commit, finished);
            } catch (FileAlreadyExistsException taken) {
                throw taken;
            } catch (FileSystemException noLinks) {
                writeWithoutLinks(path, finished, configuration);
            } catch (UnsupportedOperationException noLinks) {
                writeWithoutLinks(path, finished, configuration);
            }
        } finally {
            Files.deleteIfExists(finished);
        }
    }

    /** On disks without hard links, such as FAT, Delta's own way is all there is. */
    private void writeWithoutLinks(Path path, java.nio.file.Path finished, Configuration configuration) throws IOException {
        super.write(path, Files.readAllLines(finished).iterator(), Boolean.FALSE, configuration);
    }
}
