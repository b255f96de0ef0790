/* The command `retort image`, and what its subcommands share. SPDX-License-Identifier: Apache-2.0
 */
#include "cli/image/image.h"

#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/host/xdg.h"
#include "cli/process/own_engine.h"
#include "cli/screen/json_print.h"
#include "cli/view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	if (!config.layers_dir)
		return err_fail(err, ERR_USAGE, "set HOME or XDG_STATE_HOME, or give --state DIR",
			"there is no place for images");
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

/* ---- operands ---- */

/* Name the operand, unless the message does so already. */
static void name_operand(const char *operand, struct err *err)
{
	if (!strstr(err->msg, operand))
		(void)err_wrap(err, "%.100s", operand);
}

int image_each(struct image_run *run,
	int (*one)(struct image_run *run, const char *operand, struct err *err))
{
	int status = 0;
	for (int i = 0; i < run->n_operands; i++) {
		struct err err = {0};
		int r = one(run, run->operands[i], &err);
		if (r < 0) {
			name_operand(run->operands[i], &err);
			r = cli_fail(&err, run->args.json);
		}
		status = MAX(status, r);
		if (err.code == ERR_INTERRUPTED || err.code == ERR_GONE)
			break;
	}
	return status;
}

int image_call(struct image_run *run, const char *method, const char *name, json_t **result,
	struct err *err)
{
	json_t *params = json_need(json_object());
	json_put_text(params, "name", name);
	return client_call(&run->client, method, params, NULL, result, err);
}

/* ---- results ---- */

int image_print(const struct image_run *run, const json_t *result)
{
	return run->n_operands > 1 ? json_print(stdout, result, JSON_COMPACT) : view_json(result);
}

int image_say(const struct image_run *run, const json_t *result)
{
	if (run->args.json)
		return image_print(run, result);
	size_t n = json_array_size(json_object_get(result, "layers"));
	return printf("%s: %s, %zu layer%s, digest %.12s\n", json_get_text(result, "short_name"),
		       num_format_bytes((uint64_t)json_get_int(result, "bytes")).text, n,
		       n == 1 ? "" : "s", json_get_text(result, "digest")) < 0;
}

const struct cmd_exit image_exits[IMAGE_EXITS] = {
	{"0", "done"},
	{"1", "failed"},
	{"2", "usage error: a wrong option, value or name; what cannot be read, or is too large"},
	{"125", "the engine could not be started, or has ended"},
	{"130", "interrupted"},
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
