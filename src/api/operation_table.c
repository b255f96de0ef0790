/* Every operation, once: what clients may call, and what checks, help and documents are made of.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

enum {
	SESSION_BYTES = 128,
	NAME_BYTES = 64,
	PATH_BYTES = 4095,
	CODE_BYTES = 16 << 20,
	STDIN_BYTES = 16 << 20,
	TEXT_BYTES = 64 << 10,
	READ_BYTES = 16 << 20,
	UNDO_MAX = 1000000,
	RUN_BYTES = 64,
	WAIT_MS = 3600000,
	OUTPUT_BYTES = 1 << 20,
	GREP_BYTES = 1000,
};

#define ROWS(rows) .params = (rows), .n_params = ARRAY_LEN(rows)

#define SESSION                                                                                    \
	{                                                                                          \
		.name = "session", .type = PARAM_TEXT, .is_required = true, .min = 1,              \
		.max = SESSION_BYTES,                                                              \
		.help = "id of the session, a unique start of it, or its name"                     \
	}
#define RUN(required)                                                                              \
	{                                                                                          \
		.name = "run", .type = PARAM_TEXT, .is_required = (required), .min = 1,            \
		.max = RUN_BYTES, .help = "id of a run, as step.run gave it"                       \
	}
#define FILE_PATH                                                                                  \
	{                                                                                          \
		.name = "path", .type = PARAM_TEXT, .is_required = true, .min = 1,                 \
		.max = PATH_BYTES, .help = "path in the workspace, relative to it"                 \
	}
#define SESSION_NAME                                                                               \
	{                                                                                          \
		.name = "name", .type = PARAM_TEXT, .min = 1, .max = NAME_BYTES,                   \
		.help = "a name of its own, unique in the engine"                                  \
	}

static const struct param volume_rows[] = {
	{"src", PARAM_PATH, true, 1, PATH_BYTES, .help = "file or directory of the host"},
	{"dst", PARAM_TEXT, true, 1, PATH_BYTES,
		.help = "where the box sees it; relative to the workspace when not absolute"},
	{"mode", PARAM_CHOICE, .choices = "ro|rw", .fallback = "ro",
		.help = "whether the box may write to it"},
};

/* The bounds of the command line's options, which say the same in units of people. */
static const struct param limit_rows[] = {
	{"memory_bytes", PARAM_COUNT, false, 16 << 20, INT64_C(1) << 50,
		.help = "memory of all processes and in-memory files"},
	{"cpus", PARAM_NUMBER, false, 10, 4096000, .help = "CPUs, 0.5 is half of one"},
	{"pids", PARAM_COUNT, false, 1, 1 << 22, .help = "processes and threads"},
	{"disk_bytes", PARAM_COUNT, false, 4096, INT64_C(1) << 50,
		.help = "files in the workspace, /tmp and /dev/shm"},
	{"disk_inodes", PARAM_COUNT, false, 1, INT64_C(1) << 31, .help = "number of those files"},
	{"file_bytes", PARAM_COUNT, false, 0, INT64_C(1) << 60, .help = "one file"},
	{"open_files", PARAM_COUNT, false, 16, 1 << 20, .help = "open files of one process"},
	{"timeout_ms", PARAM_COUNT, false, 1, INT64_C(1) << 40, .help = "wall time of a step"},
	{"cpu_ms", PARAM_COUNT, false, 1, INT64_C(1) << 40, .help = "CPU time of a step"},
	{"output_bytes", PARAM_COUNT, false, 0, 1 << 30,
		.help = "captured output of each stream; head and tail are kept"},
};

static const struct param create_rows[] = {
	SESSION_NAME,
	{"runtime", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "python", .help = "language"},
	{"preload", PARAM_TEXTS, .max = 64, .help = "modules to import first"},
	{"python", PARAM_TEXT, false, 1, PATH_BYTES,
		.help = "interpreter, or the directory of a virtual environment"},
	{"rootfs", PARAM_PATH, false, 1, PATH_BYTES, .help = "take /usr and /etc from there"},
	{"workspace", PARAM_PATH, false, 1, PATH_BYTES,
		.help = "directory of the host to use as the workspace, read-write"},
	{"volumes", PARAM_OBJECTS, .max = 256, .fields = volume_rows,
		.n_fields = ARRAY_LEN(volume_rows), .help = "files and directories of the host"},
	{"env", PARAM_MAP, .max = 256, .help = "variables"},
	{"limits", PARAM_OBJECT, .fields = limit_rows, .n_fields = ARRAY_LEN(limit_rows),
		.help = "what the box may use"},
	{"seed", PARAM_COUNT, false, 0, UINT32_MAX - 1,
		.help = "fix the hash seed, random and numpy's generator"},
	{"time", PARAM_NUMBER, false, 0, UINT64_C(7258118400) * 1000,
		.help = "what the clock shows first: seconds since 1970"},
	{"fresh", PARAM_FLAG, .fallback = "false", .help = "start without a template"},
};

static const struct param session_rows[] = {SESSION};
static const struct param log_rows[] = {
	SESSION,
	{"all", PARAM_FLAG, .fallback = "false",
		.help = "also the steps that were rolled back or undone"},
};
static const struct param branch_rows[] = {
	SESSION,
	SESSION_NAME,
	{"force", PARAM_FLAG, .fallback = "false",
		.help = "end processes of the session's own, which cannot come along"},
};
static const struct param undo_rows[] = {
	SESSION,
	{"count", PARAM_COUNT, false, 1, UNDO_MAX, .fallback = "1", .help = "steps to go back"},
	{"to", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "step to go back to: its id, or a unique start of it"},
};
static const struct param run_rows[] = {
	SESSION,
	{"code", PARAM_DATA, true, 0, CODE_BYTES, .help = "the program text of this step"},
	{"runtime", PARAM_TEXT, false, 1, NAME_BYTES, .help = "language; else the session's"},
	{"filename", PARAM_TEXT, false, 1, PATH_BYTES,
		.help = "how tracebacks call the program text"},
	{"timeout_ms", PARAM_COUNT, false, 1, INT64_C(1) << 40,
		.help = "wall time; else the session's limit"},
	{"atomic", PARAM_FLAG, .fallback = "false", .help = "roll back what failed"},
	{"stdin", PARAM_DATA, false, 0, STDIN_BYTES, .help = "standard input; else it is empty"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "tell events while it runs"},
	{"detach", PARAM_FLAG, .fallback = "false",
		.help = "go on when the client is gone; else the step is interrupted"},
	{"wait_ms", PARAM_COUNT, false, 0, WAIT_MS,
		.help = "answer after that time even if the step still runs, which goes on; else "
			"when it is done"},
};
static const struct param get_rows[] = {
	RUN(false),
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "in place of run: the session of step"},
	{"step", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "in place of run: a step of session, by its id or a unique start of it"},
	{"wait_ms", PARAM_COUNT, false, 0, WAIT_MS, .fallback = "0",
		.help = "how long to wait for the end of the step"},
};
static const struct param output_rows[] = {
	RUN(true),
	{"stream", PARAM_CHOICE, .choices = "stdout|stderr|value|code", .fallback = "stdout",
		.help = "what to read of it"},
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, OUTPUT_BYTES, .fallback = "65536",
		.help = "bytes at most"},
	{"grep", PARAM_TEXT, false, 1, GREP_BYTES,
		.help = "only lines that hold this text, which is no pattern; each with its number"},
};
static const struct param interrupt_rows[] = {
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "in place of run: whatever runs in this session"},
	RUN(false),
	{"kill", PARAM_FLAG, .fallback = "false", .help = "at once, without the second of grace"},
};
static const struct param complete_rows[] = {
	SESSION,
	{"text", PARAM_TEXT, true, 0, TEXT_BYTES, .help = "what was typed; its end is completed"},
	{"runtime", PARAM_TEXT, false, 1, NAME_BYTES, .help = "language; else the session's"},
};
static const struct param read_rows[] = {
	SESSION,
	FILE_PATH,
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, READ_BYTES, .fallback = "16777216",
		.help = "bytes at most"},
};
static const struct param write_rows[] = {
	SESSION,
	FILE_PATH,
	{"content", PARAM_DATA, true, .help = "what the file holds from now on"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "how content is written"},
};
static const struct param file_rows[] = {SESSION, FILE_PATH};
static const struct param replay_rows[] = {
	{"record", PARAM_DATA, true, 1, .help = "what session.export gave"},
};

const struct operation operation_table[] = {
	{"session.create", "Make a session", ROWS(create_rows),
		.result = "{session, name?, runtime, state, limits, …}",
		.start = call_session_create},
	{"session.list", "List the sessions",
		.result =
			"{sessions: [{session, name?, parent?, runtime, state, head, created_ms, …}]}",
		.start = call_session_list},
	{"session.get", "Tell of one session", ROWS(session_rows),
		.result = "{session, name?, parent?, runtime, state, head, created_ms, …}",
		.start = call_session_get},
	{"session.branch", "Make a session that goes on from where this one is", ROWS(branch_rows),
		.result = "{session, parent, name?}", .start = call_session_branch},
	{"session.undo", "Go back to an earlier step", ROWS(undo_rows), .result = "{session, head}",
		.start = call_session_undo},
	{"session.close", "End a session", ROWS(session_rows), .result = "{}",
		.start = call_session_close},
	{"session.log", "List the steps of a session, newest first", ROWS(log_rows),
		.result = "{steps: [{step, parent, runtime, status, outcome, code, …}]}",
		.start = call_session_log},
	{"session.graph", "List the steps of all sessions, newest first",
		.result = "{steps: [{step, parent, …}], heads: [{session, name?, head}]}",
		.start = call_session_graph},
	{"session.export", "Write down a session's steps, to replay them", ROWS(session_rows),
		.result = "{record}", .start = call_session_export},
	{"step.run", "Run code in a session", ROWS(run_rows),
		.result = "the record: {step, status, value?, stdout, stderr, …}",
		.has_events = true, .start = call_step_run},
	{"step.get", "Get the record of a step, or what there is of it while it runs",
		ROWS(get_rows), .result = "the record: {run, status, …}", .start = call_step_get},
	{"step.output", "Read what a step printed, its value or its code, in parts",
		ROWS(output_rows),
		.result = "{run, stream, text, offset, next_offset?, bytes, is_end, lines?}",
		.start = call_step_output},
	{"step.interrupt", "Stop the running step; asked twice: at once", ROWS(interrupt_rows),
		.result = "{}", .start = call_step_interrupt},
	{"step.complete", "Complete a name at the end of a text", ROWS(complete_rows),
		.result = "{names: [text]}", .start = call_step_complete},
	{"file.list", "List the files of a workspace", ROWS(session_rows),
		.result = "{files: [{path, size, mime, modified_ms}]}", .start = call_file_list},
	{"file.read", "Read a file of a workspace", ROWS(read_rows),
		.result = "{content, encoding: utf-8 | base64, size}", .start = call_file_read},
	{"file.write", "Write a file of a workspace", ROWS(write_rows), .result = "{path, step?}",
		.start = call_file_write},
	{"file.remove", "Remove a file of a workspace", ROWS(file_rows), .result = "{path, step?}",
		.start = call_file_remove},
	{"replay.run", "Run the steps of a record again and compare", ROWS(replay_rows),
		.result = "{outcome: replayed | diverged, steps, first_difference?}",
		.start = call_replay_run},
	{"engine.info", "Tell of the engine",
		.result = "{name, version, schema, pid, runtimes, sessions, operations}",
		.start = call_engine_info},
	{"engine.doctor", "Say what this host can enforce", .result = "{ok, checks, limits?}",
		.is_for_operator = true, .start = call_engine_doctor},
};

const size_t operation_n = ARRAY_LEN(operation_table);
