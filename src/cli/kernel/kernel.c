/* The command `retort kernel`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernel/kernel.h"

#include "api/row/param.h"
#include "api/service.h"
#include "base/alloc.h"
#include "base/attr.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/box.h"
#include "cli/cmd.h"
#include "cli/host/xdg.h"
#include "serve/jupyter/kernel.h"
#include "serve/jupyter/parent.h"
#include "serve/jupyter/sockets.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct kernel_args {
	struct box_args box;
	const char *file, *tools;
	bool help;
	int color;
};

/* clang-format off */
static const struct opt kernel_opts[] = {
	{.name = "connection-file", .letter = 'f', OPT_INTO_TEXT(struct kernel_args, file), .arg = "FILE",
		.flags = OPT_NO_ENV, .group = "Kernel", .complete = OPT_COMPLETE_FILE,
		.help = "where the kernel listens, and the key of its messages; Jupyter writes this file"},
	TOOLS_OPT(struct kernel_args, "Tools"),
#define BOX_ARGS struct kernel_args
#include "cli/box.def"
#undef BOX_ARGS
	BOX_PROFILE_OPT(struct kernel_args),
	CMD_COMMON_OPTS(struct kernel_args),
};
/* clang-format on */

/* One run of the command. */
struct kernel_run {
	struct kernel_args args;
	struct opt_set set;
	struct connection_file file;
	const char *runtime;
	json_t *create;
	struct service *service;
	struct sockets *sockets;
	struct kernel *kernel;
	struct parent *parent;
	pid_t parent_pid;
	int over_fd; /* readable when the kernel shall end */
};

static void on_over(void *arg)
{
	const struct kernel_run *run = arg;
	(void)eventfd_write(run->over_fd, 1);
}

static void on_send(void *arg, enum jupyter_channel channel, const struct jupyter_route *to,
	const char *topic, const json_t *const parts[SIGNED_PARTS])
{
	const struct kernel_run *run = arg;
	sockets_send(run->sockets, channel, to, topic, parts);
}

int kernel_language(const char *word, const char **out, struct err *err)
{
	const char *name = param_language(word ? word : "python");
	if (!name)
		return err_fail(err, ERR_USAGE, "choose one of python, javascript, sql, shell",
			"--runtime: \"%.40s\"", word);
	*out = name;
	return 0;
}

static int load_file(struct kernel_run *run, struct err *err)
{
	bool is_open = false;
	if (!run->args.file) {
		(void)err_set(err, ERR_USAGE, "kernel: no connection file");
		return err_hint(
			err, "Jupyter starts this command itself, after `retort kernel install`");
	}
	int r = connection_file_load(&run->file, run->args.file, &is_open, err);
	if (r == 0 && is_open)
		fprintf(stderr, "retort: %s: others may read it, and use its key: chmod 600\n",
			run->args.file);
	if (r == 0 && !run->file.key[0])
		fputs("retort: messages are not signed: whoever can connect can run cells\n",
			stderr);
	return r;
}

static int prepare(struct kernel_run *run, struct err *err)
{
	const struct service_config config = {.tools = run->args.tools,
		.skills = run->args.box.skills,
		.layers_dir = xdg_layers_dir(NULL),
		.version = version_text};
	int r = cmd_config(&run->set, run->args.box.profile, err);
	if (r == 0)
		r = box_check(&run->args.box, err);
	if (r == 0)
		r = kernel_language(run->args.box.runtime, &run->runtime, err);
	if (r == 0)
		r = load_file(run, err);
	if (r == 0 && !(run->create = box_params(&run->args.box, &run->set, err)))
		r = -err_errno(err->code);
	json_put_text(run->create, "name", "main");
	if (r == 0 && (run->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		r = err_sys(err, ERR_IO, errno, "eventfd");
	if (r == 0)
		r = sockets_open(&run->sockets, &run->file, err);
	if (r == 0)
		r = service_open(&run->service, &config, err);
	return r;
}

static int start(struct kernel_run *run, struct err *err)
{
	uv_loop_t *loop = service_loop(run->service);
	const struct kernel_config config = {.context = service_context(run->service),
		.loop = loop,
		.create = run->create,
		.runtime = run->runtime,
		.version = version_text,
		.arg = run,
		.send = on_send,
		.over = on_over};
	run->kernel = kernel_new(&config);
	if (getenv("JPY_PARENT_PID"))
		run->parent = parent_watch(loop, run->parent_pid, on_over, run);
	return sockets_serve(run->sockets, loop, run->kernel, err);
}

/* Serve until the client asks for the end, or the parent has ended, or SIGTERM comes. SIGINT only
 * interrupts the cell. Returns: 0, or the exit status after a signal. */
static int serve(struct kernel_run *run)
{
	int r;
	while ((r = service_wait(run->service, run->over_fd)) == -EINTR)
		kernel_interrupt(run->kernel);
	return r == -ECANCELED ? 128 + SIGTERM : 0;
}

static void finish(struct kernel_run *run)
{
	if (run->kernel)
		kernel_stop(run->kernel);
	if (run->sockets)
		sockets_stop(run->sockets);
	parent_leave(run->parent);
	service_close(run->service); /* this ends what runs, and the loop */
	sockets_free(run->sockets);
	kernel_free(run->kernel);
	json_decref(run->create);
	fd_close(&run->over_fd);
	explicit_bzero(run, sizeof *run);
	free(run);
}

static int kernel_main(int argc, char **argv)
{
	struct err err = {0};
	int status = 0;
	if (argc > 1 && argv[1][0] != '-')
		return cmd_run_sub(&cmd_kernel, argc, argv);
	struct kernel_run *run = xnew(struct kernel_run);
	run->over_fd = -1;
	run->parent_pid = getppid();
	run->args.box = (struct box_args)BOX_ARGS_INIT;
	int r = cmd_parse(&cmd_kernel, &run->set, &run->args, argc, argv, &err);
	if (r > 0) {
		r = prepare(run, &err);
		if (r == 0)
			r = start(run, &err);
		if (r == 0)
			status = serve(run);
	}
	finish(run);
	return r < 0 ? cli_fail(&err, false) : status;
}

static const struct cmd *const subs[] = {&cmd_kernel_install, NULL};
static const char *const usage[] = {"kernel install [options]", "kernel -f FILE [options]", NULL};

static const struct cmd_example examples[] = {
	{"offer a kernel to Jupyter, once", "retort kernel install"},
	{"with data to read, and a limit", "retort kernel install -v /data -m 4g"},
};

static const struct cmd_exit exits[] = {
	{"0", "the client has asked the kernel to end, or has ended"},
	{"1", "an address of the connection file is in use"},
	{"2", "usage error, or the connection file is wrong"},
	{"125", "the engine could not be started"},
	{"143", "ended by SIGTERM"},
};

const struct cmd cmd_kernel = {
	.name = "kernel",
	.summary = "Run the cells of notebooks in a box, as a kernel of Jupyter",
	.usage = usage,
	.text = "`retort kernel install` tells Jupyter of the kernel; Jupyter then starts "
		"`retort kernel -f FILE` for each notebook. The notebook's cells run in a box of "
		"their own, which ends with the kernel. A cell of one line such as %undo, %branch "
		"or %files is a command of retort; %help lists all. Python gets all other lines "
		"that begin with % or !.",
	.opts = kernel_opts,
	.n_opts = ARRAY_LEN(kernel_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	/* `jupyter run FILE` hands its own arguments to the kernel. */
	.operand = CMD_OPERAND_FILE,
	.subs = subs,
	.run = kernel_main,
};
