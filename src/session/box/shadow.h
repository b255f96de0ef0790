/* The files of a workspace as they were, so that they can be put back. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "session/box/workspace.h"

/*
 * Small files are kept whole, one copy for all shadows in which they are the same; of larger ones
 * only what tells whether they have changed.
 */
enum {
	SHADOW_FILE_BYTES = 1 << 20,
	SHADOW_TOTAL_BYTES = 32 << 20,
};

struct shadow;

/*
 * A shadow of a workspace, whose files are listed in @files (emptied: it keeps the list). What has
 * not changed since @prev (or NULL) is known; the rest is read from the workspace @fd by
 * shadow_read(), on any thread, and nothing else may be done with the shadow before that but to
 * hold it and to look at its list. The caller holds it. Errors: ERR_NO_MEMORY.
 */
int shadow_begin(
	struct shadow **out, struct workspace *files, const struct shadow *prev, struct err *err);
size_t shadow_count_due(const struct shadow *s); /* files that are to be read */
void shadow_read(struct shadow *s, int fd);
struct shadow *shadow_hold(struct shadow *s);
void shadow_let_go(struct shadow *s); /* NULL is fine */

/* What the workspace held then. */
const struct workspace *shadow_files(const struct shadow *s);

/* Has the file @f, of the workspace @fd now, the bytes that it had then? Not when they are not
 * kept.
 */
bool shadow_has_bytes(const struct shadow *s, const struct workspace_file *f, int fd);

/* What is to be done to bring the workspace @now back: in an order that works. */
enum shadow_act {
	SHADOW_REMOVE, /* the file, link, or directory with what is left in it */
	SHADOW_MAKE,   /* the directory */
	SHADOW_WRITE,  /* the file, with these bytes and mode, in place */
	SHADOW_LINK,   /* the symbolic link, with these bytes as its target */
	SHADOW_MODE,   /* of a directory, when all is in it, or fifo; "." is the workspace itself */
	SHADOW_LOST,   /* not brought back: too large, not readable then, or bits of its mode that a
			  box may not set */
	SHADOW_ANEW,   /* as WRITE, but into a new file */
	SHADOW_MOVE,   /* this name and the name @data are exchanged */
	SHADOW_NAME,   /* of the file @data, one name more */
	SHADOW_TIME    /* of a directory in which nothing else is to be done */
};

struct shadow_action {
	enum shadow_act act;
	const char *path; /* borrowed from @now or the shadow */
	bool is_dir;
	uint32_t mode;
	const struct timespec *modified; /* borrowed likewise; NULL: it is not said */
	const void *data;
	size_t bytes;
};
typedef void shadow_action_fn(void *arg, const struct shadow_action *action);
void shadow_diff(
	const struct shadow *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/*
 * What has another name now, file or directory, unchanged: MOVE it back. As long as there is any,
 * @now is to be listed anew after that.
 */
void shadow_diff_moved(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Only the mode of the directory itself. */
void shadow_diff_mode(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Only what was not there: REMOVE it. */
void shadow_diff_new(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
