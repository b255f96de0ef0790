/* What the two directions of `retort cp` share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/host/client.h"
#include "cli/process/pump.h"

#include <stdint.h>

enum { CP_NAME_BYTES = 4096, CP_PART_BYTES = 32 };

/* Name of a file until it is whole, with the number of this process. */
#define CP_PART ".retort-cp-%d"

/* A copy between this host and a session. */
struct cp {
	struct client *client; /* connected; borrowed */
	const char *session;
	const char *box_path;  /* path in the box; relative to the workspace */
	const char *host_path; /* path on this host, or "-" for an archive (tar) */
	uint64_t max_bytes;    /* how much may come out of the box */
	bool is_through_links; /* copy what links lead to */
	unsigned n_left_out;   /* files that were named on stderr, and not copied */
};

/* A path, cut into the directory and the name in it. `is_content`: the path ends with "/." or is
 * "." or "/": it means what is in `dir`, and `name` is ".". */
struct cp_path {
	char dir[CP_NAME_BYTES], name[CP_NAME_BYTES];
	bool is_content, has_slash; /* has_slash: the path ends with a slash */
};

/* Cut @path. Errors: ERR_USAGE: it is empty or too long. */
int cp_cut(const char *path, struct cp_path *out, struct err *err);

/* Copy from the session to this host, or the other way. Returns: 0; the exit status of a copy that
 * was interrupted; or negative errno. */
int cp_out(struct cp *cp, struct err *err);
int cp_in(struct cp *cp, struct err *err);

/* Say on stderr that the file @name was left out, and why. */
void cp_leave_out(struct cp *cp, const char *name, const char *why);

/* Start `tar` in the box, with @p as its streams. @has_input: we write to it. @argv:
 * NULL-terminated. */
void cp_start(struct cp *cp, struct pump *p, const char *const *argv, bool has_input);

/*
 * Wait until tar has ended. Without @has_input it has written its archive: what it still says on
 * stdout is dropped, and if that is much, or if tar does not end, tar is killed. @is_failed: the
 * copy has failed already: kill tar at once. Closes @p. Returns: 0; 128+n after a signal of ours;
 * or negative errno with what tar said, if tar failed.
 */
int cp_finish(struct cp *cp, struct pump *p, bool has_input, bool is_failed, struct err *err);

/* Give tar's own streams to those of this process: for an archive that is copied as it is. */
int cp_pass(struct cp *cp, const char *const *argv, bool has_input, struct err *err);
