/*
 * Giving a finished file its name, on file systems that several machines share.
 *
 * There a rename may say that it is done when it is not, or that it failed when it was done: a
 * server that has lost its answer carries the request out twice, and the second time the file is
 * gone. So what it says counts for nothing, and what is there afterwards for all.
 */
#pragma once

#include "common/status.h"

/*
 * Flushes the file to disk, renames it, and looks whether the new name is that very file, as long
 * as it was, and whether the old name is gone. Nobody may write to it any more.
 *
 * STATUS_USAGE: there is something under the new name. STATUS_NOT_FOUND: the file is missing.
 * STATUS_SYSTEM: it did not work, and the text says where the file is now, as far as it is seen.
 */
enum status publish_file(const char *from, const char *to);
