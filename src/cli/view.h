/* A run as the caller sees it: plain, as one object, or event by event. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "api/text/event.h"
#include "api/text/observation.h"
#include "base/opt.h"
#include "cli/picture.h"
#include "cli/sink.h"

#include <stdbool.h>

/* What the rows of output.def are read into. */
struct output_args {
	const char *dir; /* or NULL */
	bool json, jsonl, quiet;
	int images; /* enum picture_mode */
};

/* Errors: ERR_USAGE for options that exclude each other. */
int output_check(const struct output_args *args, struct err *err);

/* How to show it. Borrowed. */
struct view_options {
	struct output_args output;
	const struct limits *limits; /* NULL: the defaults */
	const struct opt_set *set;   /* which options were given, or NULL: of no interest */
	bool error_color;	     /* stderr in red */
	bool is_atomic;		     /* an error was to roll it back */
	bool is_typed; /* step by step by a person, who has stopped what was stopped */
	enum observation_place place; /* which options hints name */
	const char *program;	      /* the file that is run, or NULL */
};

struct view {
	struct view_options options;
	struct sink out, err;
	struct picture picture;
	struct event_rest rest[2];
	size_t n_told_bytes[2]; /* of the text of stdout and stderr, by view_event() */
	size_t n_told_displays;
	uint64_t told_ms; /* when it said last that a step is run again; 0: never */
};

void view_init(struct view *view, const struct view_options *options);
void view_done(struct view *view);

/*
 * Run @req and show what is heard of it, then its end.
 * Blocks:  as once_run() does, and until the output is taken.
 * Returns: the exit status of the command.
 */
int view_run(struct view *view, const struct once_request *req);

/* Say that not all files have been copied. */
void view_tell_not_all(void);

/* The same for a step that runs elsewhere: what is heard of it; @view is a struct view. */
void view_event(void *view, const json_t *event);

/*
 * Its end, with what was not told by events, and what became of the session's state when that is
 * not what a person would think.
 * Returns: the exit status of the command.
 */
int view_record(struct view *view, const json_t *record);

/* What `retort run` exits with after a step like this. */
int view_status(const json_t *record);

/* Say on stderr "@head: " and what @add appends of @json. */
void view_tell(
	const char *head, void (*add)(struct buf *b, const json_t *json), const json_t *json);

/* Print @json on stdout as a program reads it. Returns: 0 or 1. */
int view_json(const json_t *json);
