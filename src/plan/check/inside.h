/*
 * Declarations that the files of the checker share.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/check/check.h"
#include "plan/policy/policy_list.h"

/*
 * check.c explains the algorithm. The terms of this directory:
 * A *mark* is a label with its provenance.
 * An *abstract value* (av) stands for all values that an expression has in all runs.
 * An abstract *object* stands for all objects that one place in the plan creates.
 * A *cell* contains the abstract value of a variable, or of a field of an abstract object.
 * A *region* is a part of the plan whose changes to cells can be undone.
 */
struct mark {
	uint32_t label;
	/* The event that created the label. From this event, `a` and `b` of struct event lead
	 * back to a source for each origin of the label. */
	uint32_t event;
	/* True if in every run the value contains data of a tool or model, and so is never just
	 * a literal of the plan. A part of a text then counts as data of the tool or model, too,
	 * see part_mark(). */
	bool is_others;
};

struct av {
	/* Mark of the value. If the value refers to an object, such as a list, this mark only
	 * says whose data chose the object. The elements of the object are in cells, and each
	 * cell has a mark of its own. */
	struct mark m;
	uint32_t refs; /* points-to set: ids of the objects that the value may refer to */
	/* Type of the value (enum type). T_UNSET if the value is unassigned; N_TYPES if the type
	 * is unknown. */
	uint32_t type;
	/* The constant, if the value is the same in every run; otherwise a value of type
	 * T_UNSET. */
	struct val konst;
};

#define AV_NONE ((struct av){.konst = {.type = T_UNSET}})

/* An event is a step on the way of data through the plan. EVENT_SOURCE: data enters the plan.
 * EVENT_THROUGH: data passes through a call such as ask(). EVENT_GUARD: data decides a
 * condition. EVENT_JOIN: two marks are joined. */
enum event_kind { EVENT_JOIN, EVENT_SOURCE, EVENT_THROUGH, EVENT_GUARD };
struct event {
	enum event_kind kind;
	uint32_t a, b; /* predecessors: the events whose data reached this event; 0 for no event */
	uint32_t label;
	const struct node *node;
	const struct tool *tool;
};

enum obj_kind {
	OBJ_ANY, /* any object inside a value of unknown structure */
	OBJ_LIST,
	OBJ_TUPLE,
	OBJ_SET,
	OBJ_DICT,
	OBJ_STRUCT,
	OBJ_FUNCTION,
	OBJ_NATIVE,
	OBJ_METHOD,
	OBJ_TOOL,
	OBJ_PREFIX, /* a module, or a prefix of tool names such as "mail" */
};

enum { OBJ_FIELDS_MAX = 64, CHECK_DEPTH_MAX = 2500, CHECK_CALLS_MAX = 60, SHAPE_DEPTH_MAX = 4 };
/* Limits of one check. They exist because a caller waits for the result. CHECK_BYTES_MAX does
 * not include the bytes that the heap used before the check. */
enum { CHECK_CONTEXTS_MAX = 10000, CHECK_BYTES_MAX = 64 << 20, CHECK_STEPS_MAX = 1 << 26 };

struct field {
	struct val key;
	uint32_t cell;
};

/* An abstract object. There is one per allocation site, calling context and tag, see obj_new(). */
struct obj {
	enum obj_kind kind;
	uint32_t id;
	const struct node *node; /* allocation site; for an OBJ_FUNCTION, the def or lambda */
	uint32_t structure;	 /* cell with the label of the length, order and presence of keys */
	uint32_t keys;		 /* cell with the join of all keys */
	uint32_t rest; /* cell with the join of the elements whose key or index is unknown */
	struct field *field;
	uint32_t n_fields, field_room;
	bool is_many;  /* may stand for several objects of a run, so updates are weak */
	bool is_fuzzy; /* the indexes of the elements are unknown */
	bool is_mutable;
	uint32_t walk; /* stamp of the last walk that visited the object, see walk_all() */
	/* Value of each key for which the object has no field. It is set for a tool's result,
	 * which may contain keys that its schema does not name. */
	struct av beyond;
	struct abstract_frame *frame; /* OBJ_FUNCTION: frame in which the function was created */
	struct av *defaults;
	struct av self;	  /* OBJ_METHOD: the receiver */
	const char *name; /* name of a built-in, method, tool or prefix */
	const struct tool *tool;
};

struct place {
	struct av v;
	/* Number of the region that was the last to save the cell's value in the list c->trail.
	 * state_end() restores the saved value at the end of that region. */
	uint32_t region;
	/*
	 * Used only while two lists of changes are joined, for example by join_branches(). `other`
	 * then says where one of the two lists contains this cell:
	 * - 0: the list does not contain the cell.
	 * - UINT32_MAX: the cell is already joined.
	 * - Any other value: 1 plus the index that the cell has in the list.
	 * At all other times, `other` is 0.
	 */
	uint32_t other;
	/* If the cell belongs to an abstract object: number of the cell that is the `structure`
	 * of this object. If the cell belongs to a variable: 0. */
	uint32_t owner;
	bool is_shared; /* nested functions use the variable, so updates are weak */
};

struct cell_change {
	uint32_t cell;
	/* Used only in the list c->trail: the value that the member `region` of the changed cell
	 * (struct place) had before the change. state_end() restores this value. */
	uint32_t region;
	/* The cell had no value before the branch, see find_new(). */
	bool is_new;
	struct av v;
};

struct changes {
	struct cell_change *item;
	uint32_t n, room;
};

/* The state at the target of jumps, such as all breaks of a loop: the join of the states at the
 * jumps. It contains only cells that changed since the iteration or the function began. */
struct exits {
	struct changes all;
	uint32_t trail; /* length of the trail when the iteration or the function began */
	bool is_used;
};

struct abstract_frame {
	struct abstract_frame *outer; /* frame of the enclosing function or file */
	const struct scope *scope;
	uint32_t first; /* cell of the first variable; the others follow */
	uint32_t context;
};

struct activation {
	struct activation *caller;
	const struct node *node;
	struct av result;
	struct exits returns;
	uint32_t region; /* region of the function's body */
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
	uint32_t plan; /* set that contains only the origin "plan" */
	uint32_t own;  /* set of the origins "plan", "user" and "policy" */
	struct place *cells;
	uint32_t n_cells, cell_room;
	struct changes trail;
	uint32_t region, n_regions;
	struct obj **objs; /* abstract objects by id; index 0 is unused */
	uint32_t n_objs, obj_room;
	struct event *events; /* events by id; index 0 is unused */
	uint32_t n_events, event_room;
	struct map sites, contexts, calls, margins;
	/* Number of changes to anything that is not a cell, such as the creation of an abstract
	 * object. (A cell contains the value of a variable or field.) If an iteration of a loop
	 * raises this number, another iteration is needed. */
	uint32_t n_facts;
	struct obj **walk; /* array that walk_all() reuses */
	uint32_t walk_room, n_walks;
	const struct node *at; /* expression whose evaluation began last */
	struct mark pc; /* mark of the program counter: join of the guards of all open branches */
	struct mark broken;   /* join of the guards of all breaks and continues in the open loops */
	struct mark returned; /* join of the guards of all returns in the current function */
	struct exits *breaks, *continues;
	struct abstract_frame *frame, *file, **frames;
	uint32_t n_frames, frame_room;
	uint32_t n_built_in; /* number of active built-ins that call functions, such as sorted() */
	struct activation *active;
	uint32_t n_active, n_loops, depth;
	bool is_dead; /* the current code is unreachable */
	bool is_over; /* a limit was exceeded, so the check stops */
	uint32_t call_room;
	uint32_t margin_room;
};

/* Functions of check_state.c: cells and regions. */
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

/* Functions of check_value.c: marks and abstract values. */
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

/* Functions of check_object.c: abstract objects and their elements. */
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

/* Functions that evaluate expressions, assign to targets and execute statements, in check_expr.c
 * and check_stmt.c. */
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

/* A loop. run_loop() calls `round` until the state no longer changes, the fixpoint. The
 * resulting state also covers a run without any iteration. */
struct abstract_loop {
	const struct node *node;
	struct mark guard;
	void *arg;
	void (*round)(struct checker *c, struct abstract_loop *loop);
};
void run_loop(struct checker *c, struct abstract_loop *loop);

/* The evaluated arguments of a call. */
struct call_args {
	const struct node *node;
	struct av *positional, *named;
	const struct node **named_at;
	uint32_t n, n_named;
	bool has_star, has_starstar;
	struct av star, starstar;
};

/* Functions that model calls of functions, methods, built-ins and tools, in check_call.c,
 * check_builtin.c, check_pick.c, check_endorse.c and check_tool.c. find_path() is in check.c. */
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
