/* The command `retort run`. SPDX-License-Identifier: Apache-2.0 */
#include "api/once/once.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/host/xdg.h"
#include "cli/asker.h"
#include "cli/cmd.h"
#include "cli/host/image_need.h"
#include "cli/host/program.h"
#include "cli/run.h"
#include "cli/screen/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
static const struct opt run_opts[] = {
	{.name = "code", .letter = 'c', OPT_INTO_TEXT(struct run_args, code), .arg = "CODE",
		.flags = OPT_ENDS | OPT_NO_ENV, .group = "Program",
		.help = "run CODE; the words after it are its arguments"},
	{.name = "stdin", OPT_INTO_TEXT(struct run_args, stdin_file), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Program", .complete = OPT_COMPLETE_FILE,
		.help = "file for the program's standard input, or - for retort's own; by default "
			"the input is empty"},
	BOX_PUBLISH_OPT(struct run_args),
#define PROCESS_ARGS struct run_args
#include "cli/process.def"
#undef PROCESS_ARGS
#define BOX_ARGS struct run_args
#include "cli/box.def"
#undef BOX_ARGS
#define OUTPUT_ARGS struct run_args
#include "cli/output.def"
#undef OUTPUT_ARGS
	{.name = "output", OPT_INTO_TEXT(struct run_args, output_file), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Notebook", .complete = OPT_COMPLETE_FILE,
		.help = "write the notebook with its outputs to FILE, or - for standard output "
			"(default: NAME.executed.ipynb beside it)"},
	{.name = "inplace", OPT_INTO_FLAG(struct run_args, inplace), .flags = OPT_NO_ENV, .group = "Notebook",
		.help = "write the outputs into the notebook itself"},
	{.name = "allow-errors", OPT_INTO_FLAG(struct run_args, allow_errors), .flags = OPT_NO_ENV,
		.group = "Notebook", .help = "go on after a cell that fails"},
	{.name = "param", OPT_INTO_LIST(struct run_args, params), .arg = "NAME=VALUE", .flags = OPT_NO_ENV,
		.group = "Notebook",
		.help = "set a variable of the notebook to VALUE, which is JSON, or else a text"},
	{.name = "params", OPT_INTO_TEXT(struct run_args, params_file), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Notebook", .complete = OPT_COMPLETE_FILE,
		.help = "set the variables that are the members of a JSON object"},
	{.name = "pull", OPT_INTO_TEXT(struct run_args, pull), .arg = "WHEN", .group = "Image",
		.choices = IMAGE_PULL_CHOICES, .fallback = "missing",
		.help = "when to pull the image of --image before"},
	BOX_PROFILE_OPT(struct run_args),
	CMD_COMMON_OPTS(struct run_args),
};
/* clang-format on */

static int add_variable(
	char **out, size_t *n_out, const char *name, const char *value, struct err *err)
{
	if (asprintf(&out[*n_out], "%s=%s", name, value) < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory for variables");
	(*n_out)++;
	return 0;
}

static bool has_variable(char *const *env, size_t n, const char *name)
{
	size_t bytes = strlen(name);
	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], name, bytes) == 0 && env[i][bytes] == '=')
			return true;
	return false;
}

/* Add variables that tell the program the terminal's width, and whether it can show sixels. */
static int take_terminal(const struct run_args *args, char **out, size_t *n_out, struct err *err)
{
	char columns[16];
	int r = 0;
	if (args->output.images == PICTURE_SIXEL)
		r = add_variable(out, n_out, "RETORT_IMAGES", "sixel", err);
	snprintf(columns, sizeof columns, "%d", term_columns(STDOUT_FILENO));
	if (r == 0 && term_is(STDOUT_FILENO) && !has_variable(out, *n_out, "COLUMNS"))
		r = add_variable(out, n_out, "COLUMNS", columns, err);
	return r;
}

/* ---- building the request of a run ---- */

static int check_args(const struct run_args *args, struct err *err)
{
	if (args->process.terminal)
		return err_fail(err, ERR_USAGE, "write: retort run -it -- bash",
			"--tty is for a program behind --");
	int r = output_check(&args->output, err);
	return r < 0 ? r : box_check(&args->box, err);
}

int run_open_stdin(const struct run_args *args, const char *program, struct err *err)
{
	const char *file = args->stdin_file;
	if (!file)
		return -1;
	if (strcmp(file, "-") == 0 && program && strcmp(program, "-") == 0)
		return err_fail(err, ERR_USAGE, "name the program's file",
			"standard input cannot be both program and input");
	if (strcmp(file, "-") == 0)
		return STDIN_FILENO;
	struct stat st;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)))
		return fd;
	int sys = fd >= 0 ? EISDIR : errno;
	fd_close(&fd);
	err_fail_sys(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, sys,
		"name a file that you may read, or - for retort's own standard input", "--stdin %s",
		file);
	return -EINVAL;
}

/* If a pipe on our stdin has data, explain that the program does not get it. That may be why the
 * program failed. */
static void tell_unread(const struct run_args *args, const char *program)
{
	const struct output_args *output = &args->output;
	struct stat st;
	int n = 0;
	bool is_ours = args->stdin_file || (program && strcmp(program, "-") == 0);
	if (!is_ours && !output->quiet && !output->json && !output->jsonl &&
		fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode) &&
		ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0)
		fputs("retort: a pipe on standard input was not read: --stdin - gives it to the "
		      "program\n",
			stderr);
}

static int once_request(const struct run_args *args, const struct opt_set *set,
	const struct once_request *req, const char *program, struct asker *asker)
{
	const struct view_options options = {.output = args->output,
		.limits = &args->box.limits,
		.set = set,
		.program = program};
	struct view view;
	view_init(&view, &options);
	if (asker)
		asker_set_view(asker, &view);
	int status = view_run(&view, req);
	view_done(&view);
	return status;
}

struct pieces {
	struct box_pieces box;
	struct publish ports[PUBLISH_MAX];
	struct program_place place;
	struct buf code;
	struct asker *asker; /* NULL: nobody is asked */
};

/* Make the program's file visible in the box, and set argv[0] to its name there. */
static void show_program(
	const char *program, char **operands, struct pieces *p, struct order *order)
{
	program_place(program, order, &p->place);
	operands[0] = p->place.name;
	if (p->place.src[0])
		p->box.volumes[order->n_volumes++] =
			(struct volume){.src = p->place.src, .dst = p->place.dst};
}

static void on_published(void *arg, uint16_t box_port, const char *address)
{
	const struct output_args *output = &((const struct view *)arg)->options.output;
	if (!output->quiet && !output->json && !output->jsonl)
		box_tell_published(box_port, address);
}

static int gather(const struct run_args *args, const struct opt_set *set, char **operands,
	struct pieces *p, struct once_request *req, struct err *err)
{
	const char *program = args->code ? NULL : operands[0];
	struct order order = {0};
	int r = check_args(args, err);
	if (r == 0 && !args->code && !program) {
		err_set(err, ERR_USAGE, "nothing to run");
		r = err_hint(err,
			"name a FILE, or use -c CODE, or - to read the program from standard "
			"input");
	}
	if (r == 0 && program)
		r = program_read(program, &p->code, err);
	if (r < 0 && args->box.image && err->code == ERR_NOT_FOUND)
		err_hint(err,
			"a program of the image stands behind --: retort run --image %.80s -- %.80s",
			args->box.image, program);
	if (r == 0)
		r = box_order(&args->box, set, &p->box, &order, err);
	if (r == 0)
		r = take_terminal(args, p->box.env, &p->box.n_env, err);
	if (r == 0)
		r = publish_parse(p->ports, args->box.publish.item, args->box.publish.n, err);
	if (r < 0)
		return r;
	if (program && strcmp(program, "-") != 0)
		show_program(program, operands, p, &order);
	order.n_env = p->box.n_env;
	r = box_complete(&args->box, &p->box, &order, err);
	if (r < 0)
		return r;
	order.filename = program_name(program);
	order.code = program ? buf_str(&p->code) : args->code;
	order.code_bytes = program ? p->code.bytes : args->code ? strlen(args->code) : 0;
	*req = (struct once_request){.order = order,
		.argv = (const char *const *)operands,
		.preload = args->box.preload,
		.layers_dir = order.template || order.image_name ? xdg_layers_dir(NULL) : NULL,
		.out_dir = args->output.dir,
		.published = on_published,
		.ports = p->ports,
		.n_ports = args->box.publish.n};
	if (!args->output.json && !args->output.jsonl && term_is(STDERR_FILENO)) {
		p->asker = asker_new();
		req->asker = asker_once(p->asker);
	}
	req->stdin_fd = run_open_stdin(args, program, err);
	return req->stdin_fd < -1 ? req->stdin_fd : 0;
}

static void pieces_free(struct pieces *p)
{
	box_pieces_done(&p->box);
	asker_free(p->asker);
	buf_done(&p->code);
	free(p);
}

/* Build sys.argv as Python does: the program's name, or "-c", and then the arguments. */
static char **program_argv(const struct run_args *args, int argc, char **argv, int at)
{
	static char dash_c[] = "-c";
	if (!args->code)
		return argv + at;
	argv[at - 1] = dash_c;
	(void)argc;
	return argv + at - 1;
}

static bool is_option(const struct opt_set *set, const char *text)
{
	size_t n = strcspn(text, "=");
	for (size_t i = 0; i < set->n_opts; i++) {
		const struct opt *o = &set->opts[i];
		bool is_long = strncmp(text, "--", 2) == 0 && n - 2 == strlen(o->name) &&
			strncmp(text + 2, o->name, n - 2) == 0;
		if (is_long || (text[0] == '-' && text[1] && text[1] == o->letter && !text[2]))
			return true;
	}
	return false;
}

/* Warn if an option of retort follows the code of -c. It is an argument of the program there, as
 * in `python -c`. */
static void tell_behind(const struct run_args *args, const struct opt_set *set, const char *first)
{
	const struct output_args *output = &args->output;
	if (args->code && first && !output->quiet && !output->json && !output->jsonl &&
		is_option(set, first))
		fprintf(stderr,
			"retort: %s behind -c CODE is the program's argument: write retort's own "
			"options before -c\n",
			first);
}

/* Run the code of -c or of a file. @at: the first operand in @argv. */
static int run_code(struct run_args *args, const struct opt_set *set, int argc, char **argv, int at)
{
	struct pieces *p = xnew(struct pieces);
	struct once_request req;
	struct err err = {0};
	p->code = BUF_INIT(PROGRAM_MAX_BYTES);
	if (args->process.input && !args->stdin_file)
		args->stdin_file = "-";
	tell_behind(args, set, argv[at]);
	/* The program's name on the command line. show_program() replaces it in argv. */
	const char *program = args->code ? NULL : argv[at];
	int r = gather(args, set, program_argv(args, argc, argv, at), p, &req, &err);
	int status = r < 0 ? cli_fail(&err, args->output.json)
			   : once_request(args, set, &req, program, p->asker);
	if (r == 0 && status != 0)
		tell_unread(args, program);
	pieces_free(p);
	return status;
}

static int run_main(int argc, char **argv)
{
	struct run_args args = {.box = BOX_ARGS_INIT};
	struct opt_set set;
	struct err err = {0};
	cleanup_json json_t *image = NULL;
	int at = cmd_parse(&cmd_run, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = at < 0 ? at : cmd_config(&set, args.box.profile, &err);
	if (r >= 0)
		r = box_check(&args.box, &err);
	bool is_command =
		r >= 0 && (set.is_ended_by_dashes || (args.box.image && !args.code && !argv[at]));
	bool is_notebook =
		r >= 0 && !is_command && !args.code && argv[at] && run_is_notebook(argv[at]);
	if (r >= 0 && !is_notebook)
		r = run_check_no_notebook(&set, &err);
	if (r >= 0 && args.box.image)
		r = image_need(args.box.image, args.pull, args.output.quiet, &image, &err);
	else if (r >= 0 && opt_source(&set, "pull") == OPT_FROM_ARG)
		r = err_fail(
			&err, ERR_USAGE, "name an image: --image NAME", "--pull is for an image");
	if (r < 0)
		return cli_fail(&err, args.output.json);
	if (args.box.image && r > 0 && !args.output.json)
		return r; /* it has said why */
	if (args.box.image && r > 0) {
		(void)err_set(&err, ERR_NOT_FOUND, "image %.150s was not pulled", args.box.image);
		(void)cli_fail(&err, true);
		return r;
	}
	if (is_notebook)
		return run_notebook(&args, &set, argv + at);
	return is_command ? run_command(&args, &set, argv + at, image)
			  : run_code(&args, &set, argc, argv, at);
}

static const struct cmd_example examples[] = {
	{"run one line", "retort run -c 'print(6 * 7)'"},
	{"run a script on a file of the host", "retort run -v ./orders.csv:orders.csv margin.py"},
	{"keep the plots and files it makes", "retort run -o results analysis.py"},
	{"print the whole record, for a program to read", "retort run --json -c '[1, 2, 3]'"},
	{"run what an image of a registry has", "retort run --image python:3.12 -- python -V"},
	{"use the packages of a virtual environment", "retort run --python ./venv job.py"},
	{"run a notebook, with a variable set", "retort run --param year=2026 report.ipynb"},
	{"use a shell in a box of its own", "retort run -it -v ./data -- bash"},
	{"lower the limits", "retort run -m 256m --cpus 0.5 --timeout 5s job.py"},
};

static const struct cmd_exit exits[] = {
	{"0-255", "exit status of the program"},
	{"2", "usage error: a wrong option, value or file"},
	{"124", "time limit exceeded"},
	{"125", "retort could not start the box"},
	{"126", "denied by policy"},
	{"127", "the runtime is not installed on this host; behind --: no such program"},
	{"128+n", "killed by signal n; 137 can also be the memory limit: --json says which"},
	{"130", "interrupted"},
};

static const char *const usage[] = {"run [options] FILE [ARGS...]",
	"run [options] -c CODE [ARGS...]", "run [options] - [ARGS...]",
	"run [options] NOTEBOOK.ipynb", "run [options] -- COMMAND [ARGS...]",
	"run [options] --image NAME [-- ARGS...]", NULL};

const struct cmd cmd_run = {
	.name = "run",
	.summary = "Run code once in a fresh box",
	.usage = usage,
	.text = "The program sees the host's /usr, read-only, and its own workspace /home/user, "
		"but nothing else of the host. Its output goes to retort's stdout and stderr. "
		"Like Jupyter, retort prints the value of the last expression.\n\n"
		"A FILE that ends in .ipynb is a notebook: its cells run in order, in one box, and "
		"a copy of it gets their outputs. A cell that fails ends the run, unless it has "
		"the tag raises-exception; the copy is written all the same.\n\n"
		"Behind --, any program of the box runs instead, such as `make` or `bash`. With -t "
		"it has a terminal, and no time limit unless --timeout is given.\n\n"
		"With --image NAME the box has the system of an image in place of the host's, and "
		"can write to all of it. The image is pulled if it is missing. Its variables, user "
		"and working directory are used; behind -- are the arguments of its program, if "
		"it has one. Code of -c or a FILE runs with the interpreter that the image has.",
	.opts = run_opts,
	.n_opts = ARRAY_LEN(run_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_FILE,
	.stop_at_operand = true,
	.run = run_main,
};
