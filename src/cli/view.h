/* Shows a run: as plain text, as one JSON object, or as events. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "api/text/event.h"
#include "api/text/observation.h"
#include "base/opt.h"
#include "cli/screen/picture.h"
#include "cli/screen/sink.h"

#include <stdbool.h>

/* Values of the options in output.def. */
struct output_args {
	const char *dir; /* directory of --out, or NULL */
	bool json, jsonl, quiet;
	int images; /* how plots are shown: an enum picture_mode */
};

/* Check whether the options in @args can be used together. Errors: ERR_USAGE if two of them
 * exclude each other, as --json and --jsonl do. */
int output_check(const struct output_args *args, struct err *err);

/* How a run is shown. All pointers are borrowed. */
struct view_options {
	struct output_args output;
	const struct limits *limits; /* limits of the run; NULL: the defaults */
	/* The options, with the sources of their values; NULL if unknown. The sources show which
	 * limits the user has set. */
	const struct opt_set *set;
	bool error_color; /* stderr is shown in red */
	bool is_atomic;	  /* --atomic: the step is rolled back after an error */
	/* The code is typed in the REPL. The user causes the interrupts, so they are not
	 * reported. */
	bool is_typed;
	enum observation_place place; /* the command for which hints are worded */
	const char *program;	      /* path of the program's file, or NULL */
};

struct view {
	struct view_options options;
	struct sink out, err;
	struct picture picture;
	struct event_rest rest[2];
	/* How many bytes of the step's stdout (index 0) and stderr (index 1) the events of the
	 * step have brought so far. At the end of the step, view_record() shows the bytes that
	 * no event has brought. */
	size_t n_told_bytes[2];
	size_t n_told_displays;
	/* timer_now() when a rebuild was last reported; 0: never. */
	uint64_t told_ms;
};

void view_init(struct view *view, const struct view_options *options);
void view_done(struct view *view);

/*
 * Run @req. Show its output, and how it ended.
 * Blocks: as once_run() does, and until the reader has accepted the output.
 * Returns: the exit status of the command.
 */
int view_run(struct view *view, const struct once_request *req);

/* Hold back what the program writes, as long as the person is asked something. @view: a struct
 * view.
 */
void view_hold(void *view, bool is_held);

/* Report on stderr that not all files were copied. */
void view_tell_not_all(void);

/* Show an event of a step that an engine runs. @view: a struct view. */
void view_event(void *view, const json_t *event);

/* Show the end of a step that an engine has run: the output that the events of the step did not
 * contain, how the step ended, and unexpected changes of the session's state. Returns: the exit
 * status of the command. */
int view_record(struct view *view, const json_t *record);

/* Return the exit status of `retort run` for the record of a step. */
int view_status(const json_t *record);

/* Write "retort: @head: " to stderr, and then the text that @add makes of @json. */
void view_tell(
	const char *head, void (*add)(struct buf *b, const json_t *json), const json_t *json);

/* Warn on stderr of limits that the user has set but the host cannot enforce. */
void view_unenforced(const struct opt_set *set, const json_t *record);

/* Print @json to stdout with indentation. Returns: 0; 1 if writing fails. */
int view_json(const json_t *json);
