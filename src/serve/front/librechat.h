/* What the files of the front "librechat" share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/json.h"

struct front_call;

/* ---- librechat.c ---- */

/* Answer {"error": @message}. */
void libre_refuse(struct front_call *c, unsigned status, const char *message);

/* ---- files by id: librechat_store.c ---- */

/* Length of each id, with its NUL, and of the name of a session. */
enum { LIBRE_ID_BYTES = 22, LIBRE_NAME_BYTES = 32 };

/* Largest file, in bytes, and most files of a request. */
enum { LIBRE_FILE_BYTES = 16 << 20, LIBRE_FILES_MAX = 200 };

/* Make the id of a storage session, or of a file, which may be one that programs do not change. */
void libre_make_storage(char id[LIBRE_ID_BYTES]);
void libre_make_file(char id[LIBRE_ID_BYTES], bool is_read_only);
/* Return whether @text has the form of an id; whether a file has the id of one that programs do not
 * change. */
bool libre_is_id(const char *text);
bool libre_is_read_only(const char *file);

/* Return why a file cannot have the name @name, a path in the program's directory; NULL if it
 * can. */
const char *libre_wrong_name(const char *name, size_t bytes);

/*
 * Find the files of a storage session, or one of them. @found gets the answer of file.list: their
 * paths are STORAGE/FILE/NAME; ERR_NOT_FOUND, also for ids that are none. @file NULL: all.
 */
void libre_find(struct front_call *c, const char *storage, const char *file,
	void (*found)(struct front_call *c, const json_t *result, const struct err *err));
/* Start an operation with the file at @path, as libre_find() gives it. @params: others of its
 * parameters. Owns: takes @params. */
void libre_operate(struct front_call *c, const char *operation, const char *path, json_t *params,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err));
/* Return the name in a path STORAGE/FILE/NAME, and copy the id of the file; "" if it is another
 * path. */
const char *libre_split(const char *path, char file[LIBRE_ID_BYTES]);

/*
 * Save files, one after the other. They are the rows of c->kept["save"]: {"id", "name", "content",
 * "encoding"}; c->kept["storage"] is the storage session, which is made if need be. A row that has
 * an "error" is left out. Afterwards, the rows have no content; one that could not be saved has
 * "error", a message, and "code", an enum err_code. Then c->kept["then"] says which function goes
 * on.
 */
enum libre_then { LIBRE_UPLOADED, LIBRE_RAN };
void libre_save(struct front_call *c);

/* Continue after libre_save(): librechat_file.c and librechat_run.c. */
void libre_uploaded(struct front_call *c);
void libre_ran(struct front_call *c);

/* ---- routes: librechat_run.c, librechat_file.c ---- */

void libre_start_exec(struct front_call *c);
void libre_start_upload(struct front_call *c);
void libre_start_batch(struct front_call *c);
void libre_start_list(struct front_call *c);
void libre_start_object(struct front_call *c);
void libre_start_download(struct front_call *c);
void libre_start_delete(struct front_call *c);
