/* The commands `retort image rm` and `retort image prune`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/image.h"

#include "base/json.h"
#include "base/num.h"
#include "cli/view.h"

#include <stdio.h>

/* ---- retort image rm ---- */

static int rm(struct image_run *run, const char *operand, struct err *err)
{
	cleanup_json json_t *result = NULL;
	int r = image_call(run, "image.remove", operand, &result, err);
	bool is_missing = r < 0 && err->code == ERR_NOT_FOUND;
	if (is_missing && !run->args.force)
		image_suggest(run, operand, err);
	if (r < 0 && !(is_missing && run->args.force))
		return r;
	*err = (struct err){0};
	if (!run->args.json)
		return is_missing ? 0 : puts(operand) < 0;
	cleanup_json json_t *about = json_need(json_object());
	json_put_text(about, "name", operand);
	json_put_bool(about, "removed", !is_missing);
	return image_print(run, about);
}

static int rm_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = -1};
	struct err err = {0};
	int r = image_begin(&run, &cmd_image_rm, argc, argv, &err);
	if (r == 0)
		return 0;
	return image_end(&run, r, &err, r > 0 ? image_each(&run, rm) : 0);
}

static const struct opt rm_opts[] = {
	IMAGE_FORCE_OPT("an image that is not there is no error"),
	IMAGE_JSON_EACH_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const rm_usage[] = {"image rm [options] IMAGE...", NULL};
const struct cmd cmd_image_rm = {
	.name = "image rm",
	.alike = "remove delete rmi",
	.summary = "Remove images",
	.usage = rm_usage,
	.text = "Layers that another image has stay; those that a box uses are removed later, by "
		"`retort image prune`.",
	.opts = rm_opts,
	.n_opts = ARRAY_LEN(rm_opts),
	.exits = image_exits,
	.n_exits = IMAGE_EXITS,
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
			json_pack("{s:I}", "age_s", (json_int_t)(run.args.keep_ms / 1000)), NULL,
			&result, &err);
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
		.help = "keep what is younger: layers, and parts of downloads"},
	IMAGE_FORCE_OPT("ignored: nobody is asked in any case"),
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
	.exits = image_exits,
	.n_exits = IMAGE_EXITS,
	.run = prune_main,
};
