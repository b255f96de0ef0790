/* Files of a sandbox: what files.c, watch.c, transfer.c and upload.c share.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/e2b/inside.h"

/* The attributes of files that are their metadata begin with this, behind "user.". */
#define E2B_METADATA_PREFIX "e2b."

/* Return whether a sandbox has the user @name; "" is its default. */
bool e2b_is_user(const char *name);
/* What a client is told about another user. */
#define E2B_NO_USER "invalid username: '%.32s': a sandbox only has 'user'"

/* Make an EntryInfo of an entry as path.stat gives it. Owns: the caller decrefs. */
json_t *e2b_entry_json(const json_t *entry);
/* Return the metadata of an entry: an object of texts; NULL if it has none. Owns: the caller
 * decrefs. */
json_t *e2b_metadata_json(const json_t *entry);

/* Return whether the sandbox of the call, c->kept["sandbox"], is still there. If not, or if @err
 * says that its box has gone, the request was answered. */
bool e2b_is_there(struct front_call *c, const struct err *err);

/* Return the word of Connect for an error of an operation path.*. */
const char *e2b_path_word(const struct err *err);

/* ---- transfer.c ---- */

/*
 * As e2b_enter(), for a request that may have a signature instead of a token, and then need not
 * name its sandbox. @action: "read" or "write". The user and the path of the query were checked;
 * @path is absolute, @given whether the query has one.
 */
struct e2b_sandbox *e2b_enter_files(
	struct front_call *c, const char *action, char path[E2B_PATH_BYTES], bool *given);
/* Make the path @text absolute. Errors: ERR_USAGE. */
int e2b_resolve(const char *text, char path[E2B_PATH_BYTES], struct err *err);
/* Answer that an operation with the file at @path has failed. */
void e2b_fail_file(struct front_call *c, const char *path, const struct err *err);

/* ---- watch.c ---- */

void e2b_start_watch_dir(struct front_call *c, struct e2b_sandbox *s);
void e2b_start_create_watcher(struct front_call *c, struct e2b_sandbox *s);
void e2b_start_watcher_events(struct front_call *c, struct e2b_sandbox *s);
void e2b_start_remove_watcher(struct front_call *c, struct e2b_sandbox *s);
