/* The commands `retort image ls` and `retort image inspect`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/image.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/screen/grid.h"
#include "cli/view.h"

#include <stdio.h>
#include <string.h>

enum { DIGEST_SHOWN = 12, NAMES_BYTES = 200 };

/* ---- retort image ls ---- */

/* Add the name of an image. Of a digest, there are as many digits as elsewhere. */
static void add_name(struct grid *grid, const char *name)
{
	static const char mark[] = "@sha256:";
	const char *at = strstr(name, mark);
	size_t bytes = at ? (size_t)(at - name) + sizeof mark - 1 + DIGEST_SHOWN : strlen(name);
	grid_addf(grid, "%.*s%s", (int)bytes, name, at ? "…" : "");
}

static int print_table(const json_t *rows)
{
	static const char *const heads[] = {"IMAGE", "DIGEST", "SIZE", "LAYERS", "HERE SINCE"};
	struct grid grid = grid_new(heads, ARRAY_LEN(heads), json_array_size(rows));
	size_t i;
	const json_t *row;
	json_array_foreach(json_unconst(rows), i, row)
	{
		add_name(&grid, json_get_text(row, "short_name"));
		grid_add_bytes(&grid, json_get_text(row, "digest"), DIGEST_SHOWN);
		grid_add(&grid, num_format_bytes((uint64_t)json_get_int(row, "bytes")).text);
		grid_addf(&grid, "%lld", (long long)json_get_int(row, "layers"));
		grid_add_time(&grid, json_object_get(row, "made_ms"));
	}
	return grid_print(&grid, stdout, grid_width(stdout));
}

static int print_names(const json_t *rows)
{
	size_t i;
	const json_t *row;
	json_array_foreach(json_unconst(rows), i, row)
	{
		if (puts(json_get_text(row, "short_name")) < 0)
			return 1;
	}
	return 0;
}

static int ls_main(int argc, char **argv)
{
	struct image_run run = {.min = 0, .max = 0};
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	int status = 0;
	int r = image_begin(&run, &cmd_image_ls, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = client_call(&run.client, "image.list", NULL, NULL, &result, &err);
	const json_t *rows = json_object_get(result, "images");
	if (r == 0)
		status = run.args.json	 ? view_json(rows)
			: run.args.quiet ? print_names(rows)
					 : print_table(rows);
	return image_end(&run, r, &err, status);
}

static const struct opt ls_opts[] = {
	{.name = "quiet",
		.letter = 'q',
		OPT_INTO_FLAG(struct image_args, quiet),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print the names only"},
	{.name = "json",
		OPT_INTO_FLAG(struct image_args, json),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print a JSON array"},
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const ls_usage[] = {"image ls [options]", NULL};
const struct cmd cmd_image_ls = {
	.name = "image ls",
	.alike = "list images",
	.summary = "List the images",
	.usage = ls_usage,
	.text = "The table has the first 12 digits of each digest, which name an image as well as "
		"all 64 do; --json has all.",
	.opts = ls_opts,
	.n_opts = ARRAY_LEN(ls_opts),
	.exits = image_exits,
	.n_exits = IMAGE_EXITS,
	.run = ls_main,
};

/* ---- retort image inspect ---- */

/* Return the length of a name without its tag and digest. */
static size_t repository_bytes(const char *name)
{
	size_t n = strcspn(name, "@");
	const char *slash = memrchr(name, '/', n);
	const char *colon =
		memchr(slash ? slash : name, ':', n - (size_t)(slash ? slash - name : 0));
	return colon ? (size_t)(colon - name) : n;
}

static bool is_alike(const char *name, const char *wanted)
{
	size_t n = repository_bytes(wanted);
	return repository_bytes(name) == n && strncmp(name, wanted, n) == 0;
}

void image_suggest(struct image_run *run, const char *name, struct err *err)
{
	struct err ignored;
	cleanup_json json_t *result = NULL;
	cleanup_buf struct buf names = BUF_INIT(NAMES_BYTES);
	size_t i;
	const json_t *row;
	if (client_call(&run->client, "image.list", NULL, NULL, &result, &ignored) < 0)
		return;
	json_array_foreach(json_object_get(result, "images"), i, row)
	{
		const char *shown = json_get_text(row, "short_name");
		if ((is_alike(shown, name) || is_alike(json_get_text(row, "name"), name)) &&
			names.bytes + strlen(shown) + 8 < NAMES_BYTES)
			buf_addf(&names, "%s%s", names.bytes ? ", " : "", shown);
	}
	if (names.bytes > 0)
		(void)err_hint(err, "this host has %s", buf_str(&names));
}

static int inspect(struct image_run *run, const char *operand, struct err *err)
{
	cleanup_json json_t *result = NULL;
	int r = image_call(run, "image.get", operand, &result, err);
	if (r < 0 && err->code == ERR_NOT_FOUND)
		image_suggest(run, operand, err);
	return r < 0 ? r : image_print(run, result);
}

static int inspect_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = -1};
	struct err err = {0};
	int r = image_begin(&run, &cmd_image_inspect, argc, argv, &err);
	if (r == 0)
		return 0;
	return image_end(&run, r, &err, r > 0 ? image_each(&run, inspect) : 0);
}

static const struct opt inspect_opts[] = {
	IMAGE_JSON_EACH_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const inspect_usage[] = {"image inspect [options] IMAGE...", NULL};
const struct cmd cmd_image_inspect = {
	.name = "image inspect",
	.alike = "show get",
	.summary = "Show what an image says of itself, and its layers, as JSON",
	.usage = inspect_usage,
	.text = "It is always JSON: of several images, one object on each line.",
	.opts = inspect_opts,
	.n_opts = ARRAY_LEN(inspect_opts),
	.exits = image_exits,
	.n_exits = IMAGE_EXITS,
	.operand = CMD_OPERAND_NAME,
	.run = inspect_main,
};
