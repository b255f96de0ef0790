/* What the parts of the checker share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/check/check.h"
#include "plan/policy/policy_list.h"

/*
 * The plan is run on abstract values. A value is a label, the objects it may be, and the constant
 * it is when it is the same in every run. What variables and objects hold is in cells; a region
 * is a stretch of the program whose changes can be taken back, so that its alternative is run on
 * the same state, and then be joined with those of the alternative.
 */
struct mark {
	uint32_t label;
	uint32_t event; /* why: every origin of the label is found from here */
	/* In every run somebody else has given it: a part of it is theirs, too, not a literal's. */
	bool is_others;
};

struct av {
	struct mark m;	  /* a scalar: of it; an object: of which one it is */
	uint32_t refs;	  /* a set of objects, 0: none */
	uint32_t type;	  /* enum type; T_UNSET: there is no value; N_TYPES: not known */
	struct val konst; /* T_UNSET: not known */
};

#define AV_NONE ((struct av){.konst = {.type = T_UNSET}})

enum event_kind { EVENT_JOIN, EVENT_SOURCE, EVENT_THROUGH, EVENT_GUARD };
struct event {
	enum event_kind kind;
	uint32_t a, b; /* what it comes of; 0: nothing */
	uint32_t label;
	const struct node *node;
	const struct tool *tool;
};

enum obj_kind {
	OBJ_ANY, /* all that is within an unknown value */
	OBJ_LIST,
	OBJ_TUPLE,
	OBJ_SET,
	OBJ_DICT,
	OBJ_STRUCT,
	OBJ_FUNCTION,
	OBJ_NATIVE,
	OBJ_METHOD,
	OBJ_TOOL,
	OBJ_PREFIX, /* of names of tools, or a module */
};

enum { OBJ_FIELDS_MAX = 64, CHECK_DEPTH_MAX = 2500, CHECK_CALLS_MAX = 60, SHAPE_DEPTH_MAX = 4 };
/* What one check may use, beside what is in its heap already: whoever asks for it waits for it. */
enum { CHECK_CONTEXTS_MAX = 10000, CHECK_BYTES_MAX = 64 << 20, CHECK_STEPS_MAX = 1 << 26 };

struct field {
	struct val key;
	uint32_t cell;
};

/* One per place that makes it and way to that place. */
struct obj {
	enum obj_kind kind;
	uint32_t id;
	const struct node *node; /* OBJ_FUNCTION: the def or lambda */
	uint32_t structure;	 /* cells: length, order, which keys there are */
	uint32_t keys;		 /* what keys say */
	uint32_t rest;		 /* elements at places that are not known */
	struct field *field;
	uint32_t n_fields, field_room;
	bool is_many;  /* may stand for more than one at a time */
	bool is_fuzzy; /* places are not known any more */
	bool is_mutable;
	uint32_t walk;		      /* see whole() */
	struct av beyond;	      /* of keys that the schema does not name */
	struct abstract_frame *frame; /* OBJ_FUNCTION: where it was made */
	struct av *defaults;
	struct av self;	  /* OBJ_METHOD */
	const char *name; /* OBJ_NATIVE, OBJ_METHOD, OBJ_PREFIX */
	const struct tool *tool;
};

struct place {
	struct av v;
	uint32_t region; /* the newest one that has saved it */
	uint32_t other;	 /* scratch of a join, plus one */
	uint32_t owner;	 /* the structure of the object it is of; 0: a variable */
	bool is_shared;	 /* more than one activation uses it: it is never overwritten */
};

struct cell_change {
	uint32_t cell;
	uint32_t region; /* of the trail: the one before */
	bool is_new;	 /* the object was not there before */
	struct av v;
};

struct changes {
	struct cell_change *item;
	uint32_t n, room;
};

/* Where control goes instead of on: what was changed until there. */
struct exits {
	struct changes all;
	uint32_t trail; /* from where on changes count */
	bool is_used;
};

struct abstract_frame {
	struct abstract_frame *outer; /* where the function was made */
	const struct scope *scope;
	uint32_t first; /* cell */
	uint32_t context;
};

struct activation {
	struct activation *caller;
	const struct node *node;
	struct av result;
	struct exits returns;
	uint32_t region; /* of its body */
	bool has_result, is_final;
};

struct map_entry {
	uint64_t a, b, c;
	uint32_t value;
};

struct map {
	struct map_entry *entry;
	uint32_t n, room;
};

struct checker {
	struct check *out;
	struct heap *h;
	struct labels *labels;
	const struct tool_set *tools;
	struct ground ground;
	struct policy_listed listed;
	uint32_t plan; /* the set of that origin */
	uint32_t own;  /* and with those of the user and the policy */
	struct place *cells;
	uint32_t n_cells, cell_room;
	struct changes trail;
	uint32_t region, n_regions;
	struct obj **objs; /* from 1 on */
	uint32_t n_objs, obj_room;
	struct event *events; /* from 1 on */
	uint32_t n_events, event_room;
	struct map sites, contexts, calls, margins;
	uint32_t n_facts;  /* counts changes to what is not in cells */
	struct obj **walk; /* scratch of whole() */
	uint32_t walk_room, n_walks;
	const struct node *at; /* what was looked at last */
	struct mark pc;	       /* of guards that are open */
	struct mark broken;    /* of guards of a break or continue of a loop that is open */
	struct mark returned;  /* of guards of a return */
	struct exits *breaks, *continues;
	struct abstract_frame *frame, *file, **frames;
	uint32_t n_frames, frame_room;
	uint32_t n_built_in; /* that go on, and call functions */
	struct activation *active;
	uint32_t n_active, n_loops, depth;
	bool is_dead; /* control does not come here */
	bool is_over; /* a limit was reached: nothing is looked at any more */
	uint32_t call_room;
	uint32_t margin_room;
};

/* check_state.c: cells and regions. */
uint32_t cells_add(struct checker *c, uint32_t n);
void cell_write(struct checker *c, uint32_t cell, struct av v);
void cell_add(struct checker *c, uint32_t cell, struct av v);
uint32_t state_begin(struct checker *c);
struct changes state_end(struct checker *c, uint32_t before);
void changes_done(struct checker *c, struct changes *all);
void join_branches(struct checker *c, struct changes *a, bool is_a_dead, struct changes *b,
	bool is_b_dead, struct mark guard);
bool join_changes(struct checker *c, struct changes *all, struct mark guard);
void apply_changes(struct checker *c, const struct changes *all);
void exits_add(struct checker *c, struct exits *exits);
uint32_t *map_at(struct checker *c, struct map *map, uint64_t a, uint64_t b, uint64_t d);

/* check_value.c: marks and values. */
uint32_t event_new(struct checker *c, const struct event *event);
struct mark mark_join(struct checker *c, struct mark a, struct mark b);
struct mark mark_anyones(struct mark m);
struct mark mark_capped(struct checker *c, struct mark m, enum label_kind rank);
struct mark mark_raised(struct checker *c, struct mark m, enum label_kind rank);
struct mark mark_guard(struct checker *c, struct mark m, const struct node *node);
struct mark mark_made(struct checker *c, struct mark m);
struct mark mark_choice(struct checker *c, struct mark m);
struct mark mark_unplanned(struct checker *c, struct mark m);
struct mark mark_planned(struct checker *c, const struct node *node, enum label_kind rank);
struct mark mark_now(struct checker *c);
struct mark mark_derived(struct checker *c, struct mark m, enum label_kind rank);
struct mark computed_mark(struct checker *c, struct mark m, const struct node *node, struct val v,
	enum label_kind rank);
bool mark_is_own(struct checker *c, struct mark m);
struct mark mark_source(struct checker *c, uint32_t label, const struct event *event);
struct mark text_mark(struct checker *c, struct mark m, const struct node *node);
struct mark part_mark(struct checker *c, struct mark m);
struct av av_of(struct mark m, uint32_t type);
struct av av_join(struct checker *c, struct av a, struct av b);
struct av av_choice(struct checker *c, struct av a, struct av b, struct mark guard);
struct av av_told(struct checker *c, struct av v, struct mark guard);
struct av av_decided(struct checker *c, struct av v, struct mark guard);
struct av av_with(struct checker *c, struct av v, struct mark m);
bool av_equal(struct av a, struct av b);
struct av av_constant(struct checker *c, const struct node *node, struct val v);

/* check_object.c: objects and what is in them. */
struct obj *obj_new(struct checker *c, enum obj_kind kind, const struct node *node, uint32_t tag);
struct av obj_value(struct checker *c, struct obj *o, struct mark m);
struct obj *obj_nth(struct checker *c, struct av v, size_t n);
struct av any_value(struct checker *c, const struct node *node, uint32_t tag, struct mark m);
struct mark structure_of(struct checker *c, struct av v);
struct mark truth_of(struct checker *c, struct av v);
bool is_sure(struct checker *c, struct av v);
bool is_data(struct checker *c, struct av v);
struct mark whole(struct checker *c, struct av v);
struct mark chosen(struct checker *c, struct av v);
struct av element_of(struct checker *c, struct av v);
struct av iterated(struct checker *c, struct av v);
struct av item_of(struct checker *c, struct av v, struct av key);
void item_set(struct checker *c, struct av v, struct av key, struct av x);
void element_add(struct checker *c, struct av v, struct av x);
void places_lost(struct checker *c, struct av v, struct mark why);
struct field *field_at(struct checker *c, struct obj *o, struct val key, bool is_made);
struct val concrete(struct checker *c, struct av v, uint32_t depth);

/* check_expr.c, check_stmt.c. */
struct av eval(struct checker *c, const struct node *node);
void assign_to(struct checker *c, const struct node *target, struct av v);
void exec(struct checker *c, const struct node *node);
uint32_t variable_of(struct checker *c, const struct symbol *symbol);
bool const_truth(struct av v, bool *out);
struct av eval_operation(
	struct checker *c, const struct node *node, uint32_t op, struct av a, struct av b);
void contents_add(struct checker *c, struct av v, struct av from);
struct av refuse(struct checker *c, int code, const struct node *node, const char *hint,
	const char *fmt, ...) attr_printf(5, 6);

/* Go round until nothing changes, and once not at all. */
struct abstract_loop {
	const struct node *node;
	struct mark guard;
	void *arg;
	void (*round)(struct checker *c, struct abstract_loop *loop);
};
void run_loop(struct checker *c, struct abstract_loop *loop);

/* Arguments as they were evaluated. */
struct call_args {
	const struct node *node;
	struct av *positional, *named;
	const struct node **named_at;
	uint32_t n, n_named;
	bool has_star, has_starstar;
	struct av star, starstar;
};

/* check_call.c, check_builtin.c, check_pick.c, check_endorse.c, check_tool.c. */
struct av function_value(struct checker *c, const struct node *node);
struct av eval_call(struct checker *c, const struct node *node);
struct av call_value(struct checker *c, struct av fn, const struct call_args *args);
struct av call_native(struct checker *c, const char *name, const struct call_args *args);
struct av call_method(
	struct checker *c, struct av self, const char *name, const struct call_args *args);
struct av call_tool(struct checker *c, const struct tool *tool, const struct call_args *args);
struct av new_object(
	struct checker *c, enum obj_kind kind, const struct node *node, struct mark structure);
struct mark key_mark(struct checker *c, const struct call_args *args, struct av from);
struct av model_extreme(struct checker *c, const struct call_args *args);
struct av model_sum(struct checker *c, const struct call_args *args);
struct av model_approve(struct checker *c, const struct call_args *args);
struct av model_ask(struct checker *c, const struct call_args *args);
struct av model_try(struct checker *c, const struct call_args *args);
bool model_endorse(
	struct checker *c, const char *name, const struct call_args *args, struct av *out);
struct av args_nth(const struct call_args *args, uint32_t i);
struct av args_named(const struct call_args *args, const char *name);
struct av args_get(const struct call_args *args, uint32_t i, const char *name);
bool is_suspended(struct checker *c, const struct call_args *args, const char *name);
struct mark args_whole(struct checker *c, const struct call_args *args, bool has_constants);
bool native_is_known(const char *name);
bool method_is_known(const char *name);
void find_path(struct checker *c, struct check_call *call, struct finding *f);
