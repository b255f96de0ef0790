/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include "base/fd.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 3 * 65536 };

int answer_line(int fd, json_t *json, struct err *err)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "no memory in the box for the answer");
	size_t bytes = strlen(text);
	text[bytes] = '\n'; /* in the place of the NUL */
	int r = fd_write_all(fd, text, bytes + 1);
	free(text);
	return r < 0 ? err_sys(err, ERR_IO, -r, "write the answer") : 0;
}

/* What the errors of the kernel mean to a caller. */
static const struct {
	int sys;
	enum err_code code;
	const char *hint;
} known[] = {
	{ENOENT, ERR_NOT_FOUND, "`path.list` shows what is in a directory"},
	{ENOTDIR, ERR_NOT_FOUND, "a part of the path is a file, not a directory"},
	{EACCES, ERR_ACCESS, "programs of the box may not do this either"},
	{EPERM, ERR_ACCESS, "programs of the box may not do this either"},
	{EROFS, ERR_ACCESS, "programs of the box may not do this either"},
	{ENOSPC, ERR_NO_SPACE, "remove something there first"},
	{EDQUOT, ERR_NO_SPACE, "remove something there first"},
	{ELOOP, ERR_USAGE, "a symbolic link leads back to itself"},
	{EISDIR, ERR_USAGE, "a directory has this name"},
	{EINVAL, ERR_USAGE, "choose another path"},
	{ENAMETOOLONG, ERR_USAGE, "a part of a path has at most 255 bytes"},
	{EEXIST, ERR_USAGE, "choose another name, or remove what is there"},
	{ENOTEMPTY, ERR_USAGE, "choose another name, or remove what is there"},
	{EBUSY, ERR_USAGE, "a volume or a directory of the box itself is there"},
	{ETXTBSY, ERR_USAGE, "the program runs: end it first"},
	{EMFILE, ERR_LIMIT, "there are too many levels of directories"},
	{ENFILE, ERR_LIMIT, "the host has too many open files"},
	{ENOMEM, ERR_LIMIT, "the box has no memory left: end some of its programs"},
	{EFBIG, ERR_NO_SPACE, "the file would be larger than the box allows"},
};

int answer_fail(struct err *err, int sys, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].sys == sys)
			return err_fail_sys(err, known[i].code, sys, known[i].hint, "%.180s", path);
	return err_sys(err, ERR_IO, sys, "%.180s", path);
}

json_t *answer_text(const char *text, bool *is_inexact)
{
	cleanup_buf struct buf fixed = BUF_INIT(TEXT_MAX_BYTES);
	size_t n_replaced = 0;
	if (utf8_repair(&fixed, text, strlen(text), &n_replaced) < 0)
		return NULL;
	*is_inexact |= n_replaced > 0;
	return json_stringn(buf_str(&fixed), fixed.bytes);
}
