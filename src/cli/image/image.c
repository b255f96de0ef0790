/* The command `retort image`, and its subcommands except `pull`. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "cli/image/image.h"

#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/host/xdg.h"
#include "cli/process/own_engine.h"
#include "cli/screen/grid.h"
#include "cli/view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DIGEST_SHOWN = 12 };

static int check_operands(const struct image_run *run, const struct cmd *cmd, struct err *err)
{
	int n = run->n_operands;
	for (int i = 0; i < n; i++)
		if (!utf8_is_valid(run->operands[i], strlen(run->operands[i])))
			return err_set(err, ERR_USAGE, "%.60s: not UTF-8", run->operands[i]);
	if (n < run->min) {
		(void)err_set(err, ERR_USAGE, "%s: the name of the image is missing", cmd->name);
		return err_hint(err, "write: retort %s", cmd->usage[0]);
	}
	if (run->max >= 0 && n > run->max) {
		(void)err_set(err, ERR_USAGE, "unexpected \"%.60s\"", run->operands[run->max]);
		return err_hint(err, "write: retort %s", cmd->usage[0]);
	}
	return 0;
}

int image_begin(
	struct image_run *run, const struct cmd *cmd, int argc, char **argv, struct err *err)
{
	run->client = (struct client){.fd = -1};
	int at = cmd_parse(cmd, &run->set, &run->args, argc, argv, err);
	if (at <= 0)
		return at;
	int r = cmd_config(&run->set, NULL, err);
	run->operands = argv + at;
	run->n_operands = argc - at;
	if (r == 0)
		r = check_operands(run, cmd, err);
	if (r < 0)
		return r;
	const struct service_config config = {
		.version = version_text, .layers_dir = xdg_layers_dir(run->args.state)};
	run->engine = own_engine_start(&config, &run->client, err);
	if (run->engine > 0)
		return 1;
	r = (int)run->engine;
	run->engine = 0;
	return r;
}

int image_end(struct image_run *run, int r, const struct err *err, int status)
{
	if (run->engine > 0)
		own_engine_end(run->engine, &run->client);
	return r < 0 ? cli_fail(err, run->args.json) : status;
}

int image_say(const struct image_run *run, const json_t *result)
{
	if (run->args.json)
		return view_json(result);
	size_t n = json_array_size(json_object_get(result, "layers"));
	return printf("%s: %s, %zu layer%s, digest %.12s\n", json_get_text(result, "short_name"),
		       num_format_bytes((uint64_t)json_get_int(result, "bytes")).text, n,
		       n == 1 ? "" : "s", json_get_text(result, "digest")) < 0;
}

static json_t *name_params(const char *name)
{
	return json_pack("{s:s}", "name", name);
}

static const struct opt plain_opts[] = {
	IMAGE_JSON_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};

/* ---- retort image ls ---- */

static int print_table(const json_t *rows)
{
	static const char *const heads[] = {"IMAGE", "DIGEST", "SIZE", "LAYERS", "HERE SINCE"};
	struct grid grid = grid_new(heads, ARRAY_LEN(heads), json_array_size(rows));
	size_t i;
	const json_t *row;
	json_array_foreach(json_unconst(rows), i, row)
	{
		grid_add(&grid, json_get_text(row, "short_name"));
		grid_add_bytes(&grid, json_get_text(row, "digest"), DIGEST_SHOWN);
		grid_addf(&grid, "%.1f MiB", (double)json_get_int(row, "bytes") / (1 << 20));
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
	IMAGE_JSON_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const ls_usage[] = {"image ls [options]", NULL};
const struct cmd cmd_image_ls = {
	.name = "image ls",
	.alike = "list images",
	.summary = "List the images",
	.usage = ls_usage,
	.opts = ls_opts,
	.n_opts = ARRAY_LEN(ls_opts),
	.run = ls_main,
};

/* ---- retort image inspect ---- */

static int inspect_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = 1};
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	int status = 0;
	int r = image_begin(&run, &cmd_image_inspect, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = client_call(&run.client, "image.get", name_params(run.operands[0]), NULL,
			&result, &err);
	if (r == 0)
		status = view_json(result);
	return image_end(&run, r, &err, status);
}

static const char *const inspect_usage[] = {"image inspect [options] IMAGE", NULL};
const struct cmd cmd_image_inspect = {
	.name = "image inspect",
	.alike = "show get",
	.summary = "Show what an image says of itself, and its layers, as JSON",
	.usage = inspect_usage,
	.opts = plain_opts,
	.n_opts = ARRAY_LEN(plain_opts),
	.operand = CMD_OPERAND_NAME,
	.run = inspect_main,
};

/* ---- retort image rm ---- */

static int rm_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = -1};
	struct err err = {0};
	int r = image_begin(&run, &cmd_image_rm, argc, argv, &err), status = 0;
	if (r == 0)
		return 0;
	for (int i = 0; r >= 0 && i < run.n_operands; i++) {
		cleanup_json json_t *result = NULL;
		r = client_call(&run.client, "image.remove", name_params(run.operands[i]), NULL,
			&result, &err);
		if (r == 0 && !run.args.json)
			status |= puts(run.operands[i]) < 0;
		else if (r == 0)
			status |= view_json(result);
	}
	return image_end(&run, r, &err, status);
}

static const char *const rm_usage[] = {"image rm [options] IMAGE...", NULL};
const struct cmd cmd_image_rm = {
	.name = "image rm",
	.alike = "remove delete rmi",
	.summary = "Remove images",
	.usage = rm_usage,
	.text = "Layers that another image has stay; those that a box uses are removed later, by "
		"`retort image prune`.",
	.opts = plain_opts,
	.n_opts = ARRAY_LEN(plain_opts),
	.operand = CMD_OPERAND_NAME,
	.run = rm_main,
};

/* ---- retort image prune ---- */

static int prune_main(int argc, char **argv)
{
	struct image_run run = {.min = 0, .max = 0};
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	int status = 0;
	int r = image_begin(&run, &cmd_image_prune, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = client_call(&run.client, "image.prune",
			json_pack("{s:I}", "download_age_s", (json_int_t)(run.args.keep_ms / 1000)),
			NULL, &result, &err);
	if (r == 0 && run.args.json)
		status = view_json(result);
	else if (r == 0)
		status =
			printf("%s removed\n",
				num_format_bytes((uint64_t)json_get_int(result, "bytes")).text) < 0;
	return image_end(&run, r, &err, status);
}

static const struct opt prune_opts[] = {
	{.name = "keep",
		OPT_INTO_MS(struct image_args, keep_ms),
		.arg = "TIME",
		.flags = OPT_NO_ENV,
		.group = "Options",
		.fallback = "0s",
		.max = UINT64_C(365) * 24 * 3600 * 1000,
		.help = "keep parts of downloads that are younger"},
	IMAGE_JSON_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const prune_usage[] = {"image prune [options]", NULL};
const struct cmd cmd_image_prune = {
	.name = "image prune",
	.alike = "gc clean",
	.summary = "Remove layers and parts of downloads that nothing needs",
	.usage = prune_usage,
	.opts = prune_opts,
	.n_opts = ARRAY_LEN(prune_opts),
	.run = prune_main,
};

/* ---- retort image ---- */

/* as cmd_run_sub() wants them */
struct image_group_args {
	bool help;
	int color;
};
static const struct opt opts[] = {CMD_COMMON_OPTS(struct image_group_args)};

static int image_main(int argc, char **argv)
{
	return cmd_run_sub(&cmd_image, argc, argv);
}

static const struct cmd *const subs[] = {&cmd_image_pull, &cmd_image_import, &cmd_image_ls,
	&cmd_image_inspect, &cmd_image_rm, &cmd_image_prune, NULL};
static const char *const usage[] = {"image COMMAND [options]", NULL};
static const struct cmd_example examples[] = {
	{"get an image from Docker Hub", "retort image pull python:3.12"},
	{"from another registry", "retort image pull ghcr.io/astral-sh/uv:latest"},
	{"take one from docker on this host", "docker save app | retort image import -"},
};
const struct cmd cmd_image = {
	.name = "image",
	.alike = "images",
	.summary = "Get images from registries and archives, without a daemon",
	.usage = usage,
	.text = "The layers of images are unpacked once, and kept by their digests: two images with "
		"the same layer share it.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.subs = subs,
	.run = image_main,
};
