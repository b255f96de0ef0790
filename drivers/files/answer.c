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

static enum err_code code_of(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_ACCESS;
	case ENOSPC:
	case EDQUOT:
		return ERR_NO_SPACE;
	case ELOOP:
	case EISDIR:
	case EINVAL:
	case ENAMETOOLONG:
	case EEXIST:
	case ENOTEMPTY:
	case EBUSY:
	case ETXTBSY:
		return ERR_USAGE;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EFBIG:
		return ERR_LIMIT;
	default:
		return ERR_IO;
	}
}

int answer_fail(struct err *err, int sys, const char *path)
{
	return err_sys(err, code_of(sys), sys, "%.180s", path);
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
