/* Option tables: one row per option, with the same meaning on the command line, in the
 * environment and in the configuration. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPT_MAX = 64, OPT_LIST_MAX = 256 };

/* The kind of a value. The comments give the C type of the field that it is stored in. */
enum opt_type {
	OPT_FLAG,      /* bool; written without a value, or with =true or =false */
	OPT_TEXT,      /* const char * */
	OPT_BYTES,     /* uint64_t */
	OPT_MS,	       /* uint64_t */
	OPT_COUNT,     /* uint64_t */
	OPT_CPU_MILLI, /* uint64_t */
	OPT_CHOICE,    /* int: the index of the word in `choices` */
	OPT_LIST,      /* struct opt_list; the option may be repeated */
};

enum opt_flag {
	OPT_HIDDEN = 1,	   /* left out of help, completion, manual and hints */
	OPT_ENDS = 2,	   /* all arguments after the value are operands, as after python's -c */
	OPT_NO_ENV = 4,	   /* allowed on the command line only */
	OPT_NO_CONFIG = 8, /* not set from the configuration, though from the environment */
	/* a second use is an error, and does not replace the first */
	OPT_ONCE = 16,
};

/* How the shell completes the value. (For OPT_CHOICE it always offers the words of `choices`.) */
enum opt_complete { OPT_COMPLETE_NONE, OPT_COMPLETE_FILE, OPT_COMPLETE_DIR };

/* The values of a list option. The texts are borrowed from argv, the environment or the caller
 * of opt_apply(). */
struct opt_list {
	const char *item[OPT_LIST_MAX];
	size_t n;
};

struct opt {
	const char *name; /* long option without dashes: "memory" */
	char letter;	  /* short option: 'm'; 0 if the option has only a name */
	enum opt_type type;
	unsigned flags;	      /* enum opt_flag */
	size_t offset;	      /* offset of the field in opt_set.target */
	const char *arg;      /* name of the value in help: "SIZE"; NULL for a flag */
	const char *group;    /* heading in help; the rows of one group are adjacent */
	const char *help;     /* help text, lower case, no final stop */
	const char *fallback; /* default value as a user would write it, or NULL */
	const char *choices;  /* OPT_CHOICE: "auto|always|never" */
	enum opt_complete complete;
	uint64_t min, max; /* bounds of numbers; max 0 means UINT64_MAX */
	const char *param; /* name of the same parameter in the API, or NULL */
};

/*
 * Set `type` and `offset` of a row, for the field @f of the struct @s. Each macro demands a certain
 * type of the field; for example, OPT_INTO_BYTES demands uint64_t. If the field has another type
 * than the demanded one, the code does not compile.
 * Example: `{"memory", 'm', OPT_INTO_BYTES(struct args, memory_bytes), .arg = "SIZE", …}`
 */
#define OPT_INTO_FLAG(s, f)	 OPT_INTO_(OPT_FLAG, s, f, bool)
#define OPT_INTO_TEXT(s, f)	 OPT_INTO_(OPT_TEXT, s, f, const char *)
#define OPT_INTO_BYTES(s, f)	 OPT_INTO_(OPT_BYTES, s, f, uint64_t)
#define OPT_INTO_MS(s, f)	 OPT_INTO_(OPT_MS, s, f, uint64_t)
#define OPT_INTO_COUNT(s, f)	 OPT_INTO_(OPT_COUNT, s, f, uint64_t)
#define OPT_INTO_CPU_MILLI(s, f) OPT_INTO_(OPT_CPU_MILLI, s, f, uint64_t)
#define OPT_INTO_CHOICE(s, f)	 OPT_INTO_(OPT_CHOICE, s, f, int)
#define OPT_INTO_LIST(s, f)	 OPT_INTO_(OPT_LIST, s, f, struct opt_list)
#define OPT_INTO_(kind, s, f, want)                                                                \
	.type = (kind), .offset = offsetof(s, f) + OPT_SAME_(typeof(((s *)0)->f), want)
#define OPT_SAME_(a, b) (0 * sizeof(char[__builtin_types_compatible_p(a, b) ? 1 : -1]))

/* Where a value came from, in order of priority. A value of higher priority replaces one of
 * lower priority, in whatever order they are applied. */
enum opt_source { OPT_UNSET, OPT_FROM_CONFIG, OPT_FROM_ENV, OPT_FROM_ARG };

/* An option table, the struct that it fills, and the source of each value. */
struct opt_set {
	const struct opt *opts;
	size_t n_opts;
	void *target;		       /* the struct to fill; initialised with the defaults */
	bool stop_at_operand;	       /* the first operand ends the options: run FILE --x */
	bool is_ended_by_dashes;       /* set by opt_parse(): "--" ended the options */
	unsigned char source[OPT_MAX]; /* enum opt_source */
};

#define OPT_SET(rows, n_rows, target_)                                                             \
	((struct opt_set){.opts = (rows), .n_opts = (n_rows), .target = (target_)})

/*
 * Parse argv[1..argc-1].
 *
 * These are options: -m512m, -m 512m, -qm512m, --memory=512m, --memory 512m. All arguments after
 * "--" are operands; "-" is an operand, too. If an option is repeated, the last value is used,
 * unless the option has OPT_ONCE. argv is rearranged so that the operands are at its end. Parsing
 * continues after a mistake, so that a later --json is respected when the mistake is printed. @err
 * has the first mistake.
 *
 * Returns: the index in argv of the first operand (argc without operands), or negative errno.
 * Errors: ERR_USAGE with a hint; ERR_LIMIT for a list over OPT_LIST_MAX.
 */
int opt_parse(struct opt_set *set, int argc, char **argv, struct err *err);

/*
 * Apply the environment variable RETORT_<NAME> of every row without OPT_NO_ENV. An empty variable
 * is ignored. A variable for a list holds one item.
 * Returns: 0, or negative errno of the first mistake.
 */
int opt_env(struct opt_set *set, struct err *err);

/*
 * Apply one value to the row called @name. @value is a text; "true" sets a flag. If a source of
 * higher priority has set the row, nothing is changed. A list grows by one item, except that the
 * first item from a source of higher priority replaces the whole list.
 *
 * Owns: @value must outlive the target.
 * Returns: 0, or negative errno.
 */
int opt_apply(struct opt_set *set, const char *name, const char *value, enum opt_source source,
	struct err *err);

/* Return the source that set the row called @name; OPT_UNSET if nothing did, or for an unknown
 * name. */
enum opt_source opt_source(const struct opt_set *set, const char *name);

/*
 * Write the name of the row's environment variable: "RETORT_FILE_SIZE" for "file-size".
 * Limits: cut at @bytes.
 */
void opt_env_name(const struct opt *opt, char *out, size_t bytes);

/*
 * Iterate over the words of `choices`: @last is NULL for the first call, then the previous result.
 * Returns: the next word, which is not terminated, with its length in *@bytes; NULL at the end.
 */
const char *opt_choice_next(const struct opt *opt, const char *last, size_t *bytes);
