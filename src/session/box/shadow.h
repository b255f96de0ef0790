/* Saves the files of a workspace, so that they can be restored.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/workspace.h"

/*
 * Limits of the contents that a shadow saves: size of one file, and size of all files together. Of
 * a file beyond these limits, only the metadata is saved, so that a change is noticed. Shadows
 * share the bytes of unchanged files.
 */
enum {
	SHADOW_FILE_BYTES = 1 << 20,
	SHADOW_TOTAL_BYTES = 32 << 20,
};

struct shadow;

/*
 * Begin a shadow of the workspace. @files is the list of its files, which the shadow takes over.
 * Bytes of unchanged files are shared with the earlier shadow @prev (or NULL). shadow_read() reads
 * the other files from the workspace @fd, on any thread. Until it has done so, other code may only
 * hold the shadow and read its list. The caller gets a reference. Errors: ERR_NO_MEMORY.
 */
int shadow_begin(
	struct shadow **out, struct workspace *files, const struct shadow *prev, struct err *err);
size_t shadow_count_due(const struct shadow *s); /* number of files that shadow_read() will read */
void shadow_read(struct shadow *s, int fd);
struct shadow *shadow_hold(struct shadow *s);
void shadow_let_go(struct shadow *s); /* NULL is allowed */

/* Return the list of files in the shadow. */
const struct workspace *shadow_files(const struct shadow *s);

/* Return whether the file @f in the workspace @fd has the bytes that the shadow saved. False if
 * the shadow did not save its bytes. */
bool shadow_has_bytes(const struct shadow *s, const struct workspace_file *f, int fd);

/* Actions that restore a workspace. They are to be performed in the order in which shadow_diff()
 * emits them. */
enum shadow_act {
	SHADOW_REMOVE, /* remove the file, the link, or the directory with its content */
	SHADOW_MAKE,   /* make the directory */
	SHADOW_WRITE,  /* write @data and @mode into the existing file */
	SHADOW_LINK,   /* make a symbolic link with the target @data */
	/* Set the mode of a directory or FIFO. The path "." means the workspace itself. */
	SHADOW_MODE,
	/* Report a file that cannot be restored: it was too large or unreadable, or it has mode
	 * bits that a box may not set. */
	SHADOW_LOST,
	SHADOW_ANEW, /* write @data and @mode into a new file at @path */
	SHADOW_MOVE, /* rename @data to @path; if both exist, exchange their names */
	SHADOW_NAME, /* make @path a hard link to the file @data */
	SHADOW_TIME  /* set the modification time of a directory that is otherwise unchanged */
};

struct shadow_action {
	enum shadow_act act;
	const char *path; /* path of the file, borrowed from @now or from the shadow */
	bool is_dir;
	uint32_t mode;
	const struct timespec *modified; /* modification time to set, borrowed; NULL to set none */
	const void *data;
	size_t bytes;
};
typedef void shadow_action_fn(void *arg, const struct shadow_action *action);
void shadow_diff(
	const struct shadow *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Emit a SHADOW_MOVE for each file or directory that is unchanged but has another name now. If
 * any was emitted, list the workspace again before the next comparison. */
void shadow_diff_moved(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Emit only the action that restores the mode of the workspace's own directory. */
void shadow_diff_mode(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
/* Emit only the removals of files that are in @now but not in @then. */
void shadow_diff_new(
	const struct workspace *then, const struct workspace *now, shadow_action_fn *fn, void *arg);
