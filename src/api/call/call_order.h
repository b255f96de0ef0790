/* The description of a box, read from the parameters of session.create or template.create.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/call/inside.h"
#include "image/reference.h"
#include "layer/layer_template.h"
#include "registry/registry.h"
#include "api/once/package_list.h"
#include "api/once/secret_list.h"

/* The description of a box is in `create`. The other members own the arrays and texts to which
 * `create` points. `create` also points to texts in the JSON parameters, which are borrowed and
 * must outlive the description. */
struct call_order {
	struct registry_create create;
	struct volume *volumes;
	size_t n_volumes;
	char **env;
	size_t n_env;
	const char **preload, **net;
	struct secret_list secrets;
	struct package_list packages;
};

/*
 * Read the description of a box from @params, which param_check() has accepted. Named sets of
 * network rules are replaced: package_expand() says when that blocks.
 * @registry: for whom it is; if they may not have such rules, no client of the host is asked.
 * Owns: the caller calls call_order_done(), also after an error.
 * Errors: ERR_USAGE, ERR_NO_MEMORY; those of package_expand().
 */
int call_order_read(
	struct call_order *out, struct registry *registry, const json_t *params, struct err *err);
void call_order_done(struct call_order *order);

enum {
	ORDER_N_VOLUME_ROWS = 3,
	ORDER_N_LIMIT_ROWS = 10,
	ORDER_N_SECRET_ROWS = 3,
	/* Maximum of the limit output_bytes, which is for one stream. A record contains two
	 * streams, each up to 2.25 times as long in JSON (see capture_settle()). With this
	 * maximum a record fits into JOURNAL_BLOB_MAX and RPC_LINE_BYTES. */
	ORDER_OUTPUT_BYTES_MAX = 12 << 20,
};
extern const struct param order_secret_rows[ORDER_N_SECRET_ROWS];
extern const struct param order_volume_rows[ORDER_N_VOLUME_ROWS];
extern const struct param order_limit_rows[ORDER_N_LIMIT_ROWS];
/* Rows of a result that says how each limit is enforced. */
extern const struct param order_enforced_rows[ORDER_N_LIMIT_ROWS];

/* Rows of what describes a box but its language and a workspace of the host. */
#define ORDER_BOX_ROWS                                                                             \
	{"preload", PARAM_TEXTS, .max = 64, .help = "modules to import first"},                    \
		{"python", PARAM_TEXT, false, 1, PATH_BYTES,                                       \
			.help = "Python interpreter, or the directory of a virtual "               \
				"environment"},                                                    \
		{"template", PARAM_TEXT, false, 1, LAYER_NAME_BYTES - 1,                           \
			.help = "name of a template with packages"},                               \
		{"rootfs", PARAM_PATH, false, 1, PATH_BYTES,                                       \
			.help = "directory of the host that has the system of the box"},           \
		{"image", PARAM_TEXT, false, 1, IMAGE_NAME_BYTES - 1,                              \
			.help = "name or digest of an image, which is the system of the box"},     \
		{"volumes", PARAM_OBJECTS, .max = 256, FIELDS(order_volume_rows),                  \
			.help = "files and directories of the host"},                              \
		{"env", PARAM_MAP, .max = 256, .help = "environment variables"},                   \
		{"net", PARAM_TEXTS, .max = RULES_MAX,                                             \
			.help = "network rules: what programs may connect to"},                    \
		{"secrets", PARAM_OBJECTS, .max = SECRETS_MAX, FIELDS(order_secret_rows),          \
			.help = "values that programs send to one host without seeing them"},      \
		{"limits", PARAM_OBJECT, FIELDS(order_limit_rows), .help = "limits of the box"},   \
		{"seed", PARAM_COUNT, false, 0, UINT32_MAX - 1,                                    \
			.help = "make runs repeatable: fix random numbers, clock, order of "       \
				"files, addresses"},                                               \
	{                                                                                          \
		"time", PARAM_NUMBER, false, 0, UINT64_C(7258118400) * 1000,                       \
			.help = "initial time of the clock: seconds since 1970"                    \
	}

#define ORDER_ROWS                                                                                 \
	{"runtime", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "python", .help = "language",    \
		PARAM_OF_LANGUAGE},                                                                \
		{"workspace", PARAM_PATH, false, 1, PATH_BYTES,                                    \
			.help = "directory of the host to use as the workspace, read-write"},      \
		ORDER_BOX_ROWS
