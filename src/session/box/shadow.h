/* The files of a workspace at one moment, so that they can be put back. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "session/box/workspace.h"

/*
 * Small files are kept whole; shadows in which a file is the same share one copy. Of larger files
 * only the data is kept that tells whether they have changed.
 */
enum {
	SHADOW_FILE_BYTES = 1 << 20,
	SHADOW_TOTAL_BYTES = 32 << 20,
};

struct shadow;

/*
 * A shadow of the workspace whose files are listed in @files (emptied: the shadow keeps the list).
 * Unchanged files are taken over from @prev (or NULL); shadow_read() reads the others from the
 * workspace @fd, on any thread. Before that, the shadow may only be held and its list be read. The
 * caller holds it. Errors: ERR_NO_MEMORY.
 */
int shadow_begin(
	struct shadow **out, struct workspace *files, const struct shadow *prev, struct err *err);
size_t shadow_count_due(const struct shadow *s); /* files that shadow_read() will read */
void shadow_read(struct shadow *s, int fd);
struct shadow *shadow_hold(struct shadow *s);
void shadow_let_go(struct shadow *s); /* NULL is fine */

/* The files of the workspace at that moment. */
const struct workspace *shadow_files(const struct shadow *s);

/* Has the file @f in the workspace @fd the same bytes as then? False when they were not kept. */
bool shadow_has_bytes(const struct shadow *s, const struct workspace_file *f, int fd);

/* What is to be done to bring the workspace @now back, in an order that works. */
enum shadow_act {
	SHADOW_REMOVE, /* the file, link, or directory with everything in it */
	SHADOW_MAKE,   /* the directory */
	SHADOW_WRITE,  /* the file, with these bytes and mode, in place */
	SHADOW_LINK,   /* the symbolic link, with these bytes as its target */
	SHADOW_MODE,   /* the mode of a directory (after its files are back) or fifo; "." is the
			  workspace itself */
	SHADOW_LOST, /* cannot be put back: too large, unreadable then, or with mode bits that a box
			may not set */
	SHADOW_ANEW, /* as WRITE, into a new file */
	SHADOW_MOVE, /* exchange this name and the name @data */
	SHADOW_NAME, /* one more name for the file @data */
	SHADOW_TIME  /* the time of a directory in which nothing else is to be done */
};

struct shadow_action {
	enum shadow_act act;
	const char *path; /* borrowed from @now or from the shadow */
	bool is_dir;
	uint32_t mode;
	const struct timespec *modified; /* borrowed likewise; NULL: leave it */
	const void *data;
	size_t bytes;
};
typedef void shadow_action_fn(void *arg, const struct shadow_action *action);
void shadow_diff(
	const struct shadow *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/*
 * MOVE back each unchanged file or directory that has another name now. If there is any, list @now
 * again before the next comparison.
 */
void shadow_diff_moved(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Put back only the mode of the directory itself. */
void shadow_diff_mode(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* REMOVE only what was not there. */
void shadow_diff_new(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
