/* The operation that scores programs. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "api/call/compare.h"
#include "api/call/inside.h"
#include "api/call/judge.h"
#include "api/call/program.h"

enum { CASES_MAX = 10000 };

static const struct param case_rows[] = {
	{"stdin", PARAM_DATA, .max = CODE_BYTES, .help = "standard input (default: empty)"},
	{"expected", PARAM_DATA, .max = CODE_BYTES,
		.help = "what the program is to print (default: it only has to exit with 0)"},
	{"args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = "arguments of the program"},
	{"files", PARAM_OBJECTS, .max = FILES_MAX, FIELDS(program_file_rows),
		.help = "files of this case"},
};
static const struct param checker_rows[] = {
	{"language", PARAM_TEXT, NEEDED, 1, LANGUAGE_BYTES, .help = "language of the checker"},
	{"code", PARAM_DATA, NEEDED, .max = CODE_BYTES, .help = "the checker"},
	{"filename", PARAM_TEXT, .min = 1, .max = 255, .help = HELP_FILENAME},
	{"files", PARAM_OBJECTS, .max = FILES_MAX, FIELDS(program_file_rows), .help = HELP_FILES},
	{"compile_args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = HELP_COMPILE_ARGS},
	{"compile_timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS, .help = HELP_COMPILE_TIMEOUT},
	{"args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX,
		.help = "its arguments, such as the names of the three files"},
	{"input", PARAM_TEXT, .min = 1, .max = PATH_BYTES, .fallback = "input.txt",
		.help = "name of the file with the input of the case"},
	{"expected", PARAM_TEXT, .min = 1, .max = PATH_BYTES, .fallback = "expected.txt",
		.help = "name of the file with the expected output"},
	{"output", PARAM_TEXT, .min = 1, .max = PATH_BYTES, .fallback = "output.txt",
		.help = "name of the file with what the program has printed"},
	{"accepts", PARAM_CHOICE, .choices = "exit|print", .fallback = "exit",
		.help = "how it accepts an output: exit, it exits with 0; print, it prints a number "
			"that is at least 1"},
	{"timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS, .fallback = "10000",
		.help = "its wall time for each case"},
};
static const struct param judge_rows[] = {
	{"language", PARAM_TEXT, NEEDED, 1, LANGUAGE_BYTES,
		.help = "language, as program.languages names it"},
	{"code", PARAM_DATA, NEEDED, .max = CODE_BYTES, .help = "the program"},
	{"cases", PARAM_OBJECTS, NEEDED, 1, CASES_MAX, FIELDS(case_rows), .help = "test cases"},
	{"compare", PARAM_CHOICE, .choices = COMPARE_CHOICES,
		.help = HELP_COMPARE
		" (default: words; with a checker, only the checker decides unless compare is given)"},
	{"checker", PARAM_OBJECT, FIELDS(checker_rows),
		.help = "program that decides on outputs that do not compare equal, in a box of its "
			"own"},
	{"output_file", PARAM_TEXT, .min = 1, .max = PATH_BYTES,
		.help = "file that the program writes instead of printing"},
	{"all", PARAM_FLAG, .fallback = "false",
		.help = "run all cases, not only up to the first that is not passed"},
	{"filename", PARAM_TEXT, .min = 1, .max = 255, .help = HELP_FILENAME},
	{"files", PARAM_OBJECTS, .max = FILES_MAX, FIELDS(program_file_rows), .help = HELP_FILES},
	{"compile_args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = HELP_COMPILE_ARGS},
	{"large_stack", PARAM_FLAG, .fallback = "false", .help = HELP_LARGE_STACK},
	{"compile_timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS, .help = HELP_COMPILE_TIMEOUT},
	{"timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS,
		.help = "wall time of each case (default: limits.timeout_ms)"},
	{"total_timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS,
		.help = "time after which no further case begins (default: no limit)"},
	ORDER_BOX_ROWS,
};
static const struct param judged_case_rows[] = {
	{"verdict", PARAM_CHOICE, NEEDED,
		.choices = "passed|wrong|failed|late|memory|skipped|unjudged",
		.help = "passed; wrong: another output; failed: it did not exit with 0, printed more "
			"than is kept, or did not write output_file; late: the time was over; memory: the limit was reached; "
			"skipped: total_timeout_ms was over; unjudged: the engine has failed, or a "
			"file of the case has a wrong name"},
	MAY_GIVE("message", PARAM_TEXT, "why it has this verdict"),
	MAY_GIVE("run", PARAM_OBJECT, "record of the program"),
	MAY_GIVE("check", PARAM_OBJECT, "record of the checker"),
};
static const struct param judged_rows[] = {
	GIVES("language", PARAM_TEXT, "language"),
	GIVES("accepted", PARAM_FLAG, "all cases are passed"),
	MAY_GIVE("session", PARAM_TEXT,
		"id of the session of which the cases ran in branches; absent if the compiler's "
		"status is not ok"),
	MAY_GIVE("compile", PARAM_OBJECT,
		"record of the compiler, as step.run gives it; absent if nothing was compiled"),
	{"cases", PARAM_OBJECTS, NEEDED, FIELDS(judged_case_rows),
		.help = "results in the order of the cases, up to the first that is not passed; "
			"empty if the compiler's status is not ok"},
};

static const struct operation rows[] = {
	{"program.judge", "Run a program with test cases, each in a box of its own",
		ROWS(judge_rows), RESULT(judged_rows), .label = OPERATION_PROGRAM,
		.limits =
			"Outputs in the result: 32 MiB together; the rest is cut. White space and "
			"letters are those of ASCII.",
		.errors =
			"not_found|access|runtime|box|limit|quota|gone|no_space|interrupted|denied",
		.answer_bytes = 0,
		.example = "{'language': 'python', 'code': 'print(int(input()) * 2)', 'cases': "
			   "[{'stdin': '21', 'expected': '42'}]}",
		.answer = "{'language': 'python', 'accepted': true, 'cases': [{'verdict': "
			  "'passed', 'run': {'status': 'ok', 'stdout': '42\\n'}}]}",
		.start = judge_start},
};

const struct operation_family judge_family = FAMILY(rows);
