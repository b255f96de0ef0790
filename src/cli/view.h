/* The display of a run: as plain text, as one JSON object, or as events. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "api/text/event.h"
#include "api/text/observation.h"
#include "base/opt.h"
#include "cli/screen/picture.h"
#include "cli/screen/sink.h"

#include <stdbool.h>

/* The target of the rows of output.def. */
struct output_args {
	const char *dir; /* directory for --out, or NULL */
	bool json, jsonl, quiet;
	int images; /* an enum picture_mode */
};

/* Check the options. Errors: ERR_USAGE: two options exclude each other. */
int output_check(const struct output_args *args, struct err *err);

/* Options of the display. Borrowed. */
struct view_options {
	struct output_args output;
	const struct limits *limits;  /* limits of the run; NULL: the defaults */
	const struct opt_set *set;    /* the options that were given; NULL: unknown */
	bool error_color;	      /* show stderr in red */
	bool is_atomic;		      /* the step is rolled back after an error */
	bool is_typed;		      /* the code is typed by a person, who knows of an interrupt */
	enum observation_place place; /* the command whose options appear in hints */
	const char *program;	      /* file of the program, or NULL */
};

struct view {
	struct view_options options;
	struct sink out, err;
	struct picture picture;
	struct event_rest rest[2];
	size_t n_told_bytes[2]; /* bytes of stdout and stderr that events have reported */
	size_t n_told_displays;
	uint64_t told_ms; /* time of the last report of rebuilding; 0: never */
};

void view_init(struct view *view, const struct view_options *options);
void view_done(struct view *view);

/*
 * Run @req, and show its events and its end.
 * Blocks:  as once_run() does, and until the reader has accepted the output.
 * Returns: the exit status of the command.
 */
int view_run(struct view *view, const struct once_request *req);

/* Report that not all files were copied. */
void view_tell_not_all(void);

/* Show an event of a step that runs in an engine; @view is a struct view. */
void view_event(void *view, const json_t *event);

/* Show the end of a step that runs in an engine: output that was in no event, and surprising
 * changes of the session's state. Returns: the exit status of the command. */
int view_record(struct view *view, const json_t *record);

/* Return the exit status of `retort run` for the record of a step. */
int view_status(const json_t *record);

/* Write "@head: " to stderr, followed by the text that @add appends for @json. */
void view_tell(
	const char *head, void (*add)(struct buf *b, const json_t *json), const json_t *json);

/* Print @json for programs. Returns: 0 or 1. */
int view_json(const json_t *json);
