/* What a client is told of a file that it changes. SPDX-License-Identifier: Apache-2.0 */
#include "session/change.h"

#include "t.h"

#include <errno.h>

TEST(what_init_answers)
{
	static const struct {
		int status;
		enum err_code code;
	} rows[] = {
		{-ENOENT, ERR_NOT_FOUND}, {-ENOSPC, ERR_NO_SPACE}, {-EFBIG, ERR_NO_SPACE},
		{-EISDIR, ERR_ACCESS},
		{-ECANCELED,
			ERR_BUSY}, /* a step was rolled back meanwhile: it is to be asked again */
	};
	struct err err;
	CHECK_INT(change_judge(0, "a", &err), 0);
	CHECK_INT(change_judge(7, "a", &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK(change_judge(rows[i].status, "some/file", &err) < 0);
		CHECK_INT(err.code, rows[i].code);
		CHECK_HAS(err.msg, "some/file");
	}
}
