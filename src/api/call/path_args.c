/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call/path_args.h"

#include <inttypes.h>
#include <stdio.h>

void path_add(struct path_args *args, const char *text)
{
	if (args->n < PATH_ARGS_MAX)
		args->argv[args->n++] = text;
}

int path_add_path(struct path_args *args, const json_t *params, const char *name, struct err *err)
{
	char *path = args->paths[args->n_paths++ % ARRAY_LEN(args->paths)];
	int r = path_clean(param_text(params, name, ""), path, err);
	path_add(args, path);
	return r < 0 ? err_wrap(err, "`%s`", name) : 0;
}

void path_add_number(struct path_args *args, int64_t number)
{
	char *text = args->numbers[args->n_numbers++ % PATH_NUMBERS_MAX];
	snprintf(text, sizeof args->numbers[0], "%" PRId64, number);
	path_add(args, text);
}
