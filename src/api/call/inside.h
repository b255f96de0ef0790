/* Limits and macros that the rows of operations share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/call/call_session.h"
#include "api/operation/operation.h"

enum {
	SESSION_BYTES = 128, /* maximum length of a session's name or id, or of a step's digest */
	NAME_BYTES = 64,
	SESSION_NAME_BYTES = 63, /* as in session_table_check_name() */
	RUN_BYTES = 64,
	PATH_BYTES = 4095,
	CODE_BYTES = 16 << 20,
	TEXT_BYTES = 64 << 10,
	READ_BYTES = 16 << 20,
	UNDO_MAX = 1000000,
	WAIT_MS = 3600000,
	SCRIPT_ARGS_MAX = 1024,
};
#define TIME_MS (INT64_C(1) << 40)

/* Rows of a file with its content, as file.read gives it. Defined in call_file.c. */
enum { FILE_CONTENT_ROWS = 6 };
extern const struct param file_content_rows[FILE_CONTENT_ROWS];

/* Initializers for an array of rows and its length. */
#define ROWS(rows)   .params = (rows), .n_params = ARRAY_LEN(rows)
#define RESULT(rows) .result = (rows), .n_result = ARRAY_LEN(rows)
#define FIELDS(rows) .fields = (rows), .n_fields = ARRAY_LEN(rows)
#define FAMILY(rows)                                                                               \
	{                                                                                          \
		(rows), ARRAY_LEN(rows)                                                            \
	}
#define NEEDED .is_required = true

#define SESSION                                                                                    \
	{                                                                                          \
		.name = "session", .type = PARAM_TEXT, NEEDED, .min = 1, .max = SESSION_BYTES,     \
		.help = "id of the session, the unique beginning of its id, or its name"           \
	}
#define SESSION_NAME                                                                               \
	{                                                                                          \
		.name = "name", .type = PARAM_TEXT, .min = 1, .max = SESSION_NAME_BYTES,           \
		.help = "name of the new session, unique among the caller's sessions"              \
	}
#define LANGUAGE LANGUAGE_BY(HELP_LANGUAGE)
#define LANGUAGE_BY(help_)                                                                         \
	{                                                                                          \
		.name = "runtime", .type = PARAM_TEXT, .min = 1, .max = NAME_BYTES,                \
		.help = (help_), PARAM_OF_LANGUAGE                                                 \
	}

/* Rows for members of a result: GIVES, always present; MAY_GIVE, optional. */
#define GIVES(name_, type_, help_)                                                                 \
	{                                                                                          \
		.name = (name_), .type = (type_), NEEDED, .help = (help_)                          \
	}
#define MAY_GIVE(name_, type_, help_)                                                              \
	{                                                                                          \
		.name = (name_), .type = (type_), .help = (help_)                                  \
	}
#define GIVES_SESSION GIVES("session", PARAM_TEXT, "id of the session")
#define GIVES_STEP    GIVES("step", PARAM_TEXT, "id of the step: SHA-256 of its record")
