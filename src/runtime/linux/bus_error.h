// The end of a process that cannot read a page of a mapped file: the disk has failed, or the file was cut. The kernel sends
// SIGBUS, and without a handler nobody learns which file it was.
#pragma once

namespace cassandra_like {

// From now on SIGBUS writes one line to standard error that names the file, and ends the process as before. For programs whose
// signals are theirs: it replaces the process's handler.
void name_unreadable_mapped_files();

}  // namespace cassandra_like
