/* Saves the files of a workspace, so that they can be restored.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/workspace.h"

/*
 * Sizes up to which file contents are saved, per file and in total. Shadows share the bytes of
 * equal files. Of other files only the metadata is saved, which tells whether they have changed.
 */
enum {
	SHADOW_FILE_BYTES = 1 << 20,
	SHADOW_TOTAL_BYTES = 32 << 20,
};

struct shadow;

/*
 * Begin a shadow of the workspace whose files are listed in @files (the shadow takes the list
 * over). Unchanged files are taken from @prev (or NULL); shadow_read() reads the others from the
 * workspace @fd, on any thread. Before that, only hold the shadow and read its list. The caller
 * gets a reference. Errors: ERR_NO_MEMORY.
 */
int shadow_begin(
	struct shadow **out, struct workspace *files, const struct shadow *prev, struct err *err);
size_t shadow_count_due(const struct shadow *s); /* number of files that shadow_read() will read */
void shadow_read(struct shadow *s, int fd);
struct shadow *shadow_hold(struct shadow *s);
void shadow_let_go(struct shadow *s); /* NULL is allowed */

/* Return the list of files in the shadow. */
const struct workspace *shadow_files(const struct shadow *s);

/* Does the file @f in the workspace @fd have the bytes that the shadow saved? False if it saved
 * none. */
bool shadow_has_bytes(const struct shadow *s, const struct workspace_file *f, int fd);

/* Actions that restore the workspace @now, in the order of shadow_diff(). */
enum shadow_act {
	SHADOW_REMOVE, /* remove the file, the link, or the directory with its content */
	SHADOW_MAKE,   /* make the directory */
	SHADOW_WRITE,  /* write these bytes and mode into the existing file */
	SHADOW_LINK,   /* make a symbolic link with these bytes as its target */
	SHADOW_MODE,   /* set the mode of a directory (after its files) or FIFO; ".": the workspace
			  itself */
	SHADOW_LOST,   /* report a file that cannot be restored: it was too large or unreadable, or
			  has mode bits that a box may not set */
	SHADOW_ANEW,   /* write these bytes and mode into a new file */
	SHADOW_MOVE,   /* exchange the names @path and @data */
	SHADOW_NAME,   /* link @path to the file @data */
	SHADOW_TIME    /* set the time of a directory with no other changes */
};

struct shadow_action {
	enum shadow_act act;
	const char *path; /* borrowed from @now or from the shadow */
	bool is_dir;
	uint32_t mode;
	const struct timespec *modified; /* borrowed as well; NULL: leave the time unchanged */
	const void *data;
	size_t bytes;
};
typedef void shadow_action_fn(void *arg, const struct shadow_action *action);
void shadow_diff(
	const struct shadow *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/*
 * Emit a SHADOW_MOVE for each unchanged file or directory that has another name now. If there was
 * one, list @now again before the next comparison.
 */
void shadow_diff_moved(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Emit only the action that restores the mode of the workspace itself. */
void shadow_diff_mode(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Emit only removals, of files that did not exist then. */
void shadow_diff_new(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
