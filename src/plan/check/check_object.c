/*
 * Abstract objects, which model the heap of a run.
 *
 * An object is identified by its allocation site, the calling context and a tag, so the number of
 * objects is finite. An object that is created in a loop, or created twice, stands for many objects
 * (is_many) and gets only weak updates.
 *
 * Each object has a cell for each constant key, and three more:
 * `structure`: the label of the length, order and presence of keys.
 * `keys`: the join of all keys.
 * `rest`: the join of all elements whose key is unknown.
 * A write with an unknown key is joined into `rest`. A read with an unknown key joins `rest` and
 * the cells of all keys. A read with a constant key joins `rest` and the cell of this key. When
 * indexes move (insert, sort, pop), the object becomes fuzzy: the indexes of its elements are no
 * longer known, and a read joins all elements.
 *
 * An unknown value (OBJ_ANY) is one object that contains itself, so that every element of a tool's
 * result, at any depth, has the same mark.
 *
 * whole() joins the marks of everything reachable from a value; each walk stamps the objects that
 * it visited, so cycles end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include "plan/value/str.h"

#include <string.h>

enum { CONCRETE_MAX = 64, CONCRETE_DEPTH_MAX = 4 };

static struct obj *obj_make(struct checker *c, enum obj_kind kind, const struct node *node)
{
	struct obj *o = heap_zero(c->h, sizeof *o);
	uint32_t cells = cells_add(c, 3);
	if (c->n_objs + 1 >= c->obj_room) {
		uint32_t room = c->obj_room ? c->obj_room * 2 : 64;
		struct obj **objs = heap_regrow(c->h, c->objs, c->n_objs, room, sizeof *objs);
		if (!objs)
			return NULL;
		c->objs = objs;
		c->obj_room = room;
		c->n_objs += c->n_objs == 0; /* id 0 means "no object" */
	}
	if (!o || cells == 0)
		return NULL;
	c->cells[cells + 1].owner = c->cells[cells + 2].owner = cells;
	*o = (struct obj){.kind = kind,
		.node = node,
		.structure = cells,
		.keys = cells + 1,
		.rest = cells + 2,
		.beyond = AV_NONE,
		.is_many = c->n_loops > 0,
		.is_mutable =
			kind == OBJ_ANY || kind == OBJ_LIST || kind == OBJ_SET || kind == OBJ_DICT};
	c->objs[c->n_objs] = o;
	return o;
}

/* Find or create the abstract object that @node creates in the current calling context. @tag
 * distinguishes several objects of one node. Returns: NULL if memory is exhausted. */
struct obj *obj_new(struct checker *c, enum obj_kind kind, const struct node *node, uint32_t tag)
{
	uint32_t context = c->frame ? c->frame->context : 0;
	uint32_t *at = map_at(c, &c->sites, (uintptr_t)node, context, (uint64_t)tag << 8 | kind);
	if (!at)
		return NULL;
	if (*at != UINT32_MAX) {
		struct obj *o = c->objs[*at];
		c->n_facts += !o->is_many;
		o->is_many = true;
		cell_add(c, o->structure, av_of((struct mark){0}, N_TYPES));
		return o;
	}
	struct obj *o = obj_make(c, kind, node);
	if (!o)
		return NULL;
	*at = o->id = c->n_objs++;
	c->n_facts++;
	cell_add(c, o->structure, av_of((struct mark){0}, N_TYPES));
	return o;
}

struct av obj_value(struct checker *c, struct obj *o, struct mark m)
{
	static const uint32_t types[] = {[OBJ_ANY] = N_TYPES,
		[OBJ_LIST] = T_LIST,
		[OBJ_TUPLE] = T_TUPLE,
		[OBJ_SET] = T_SET,
		[OBJ_DICT] = T_DICT,
		[OBJ_STRUCT] = T_STRUCT,
		[OBJ_FUNCTION] = T_FUNCTION,
		[OBJ_NATIVE] = T_NATIVE,
		[OBJ_METHOD] = T_BOUND,
		[OBJ_TOOL] = T_NATIVE,
		[OBJ_PREFIX] = N_TYPES};
	struct av v = av_of(m, o ? types[o->kind] : N_TYPES);
	if (o)
		v.refs = label_set(c->labels, o->id);
	return v;
}

struct obj *obj_nth(struct checker *c, struct av v, size_t n)
{
	uint32_t id = v.refs ? label_nth(c->labels, v.refs, n) : 0;
	return id && id < c->n_objs ? c->objs[id] : NULL;
}

/* Create a value of which only the mark is known. Each element of the value is the value itself. */
struct av any_value(struct checker *c, const struct node *node, uint32_t tag, struct mark m)
{
	struct obj *o = obj_new(c, OBJ_ANY, node, tag);
	struct av v = obj_value(c, o, m);
	if (!o)
		return v;
	cell_add(c, o->rest, v);
	return v;
}

static struct mark cell_mark(const struct checker *c, uint32_t cell)
{
	return mark_anyones(c->cells[cell].v.m);
}

/* Return the mark of the structure of @v: of the length, order and keys of each object that @v
 * may refer to. The mark of @v itself is joined, too, because data that decided which object @v
 * refers to also decided which length the plan sees. */
struct mark structure_of(struct checker *c, struct av v)
{
	struct mark m = v.m;
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++)
		m = mark_join(c, m, cell_mark(c, o->structure));
	return m;
}

/* Return the mark of the truth value of @v. For a constant the mark is empty, because its truth
 * value reveals nothing. */
struct mark truth_of(struct checker *c, struct av v)
{
	if (v.konst.type != T_UNSET)
		return (struct mark){0};
	return mark_capped(c, structure_of(c, v), KIND_BOOL);
}

struct object_walk {
	struct obj **item;
	uint32_t n, stamp;
	struct mark m;
};

static void walk_add(struct checker *c, struct object_walk *w, struct av v)
{
	struct obj *o;
	w->m = mark_join(c, w->m, mark_anyones(v.m));
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++)
		if (o->walk != w->stamp) {
			o->walk = w->stamp;
			w->item[w->n++] = o;
		}
}

/* Collect all objects that can be reached from @v, and join the marks of everything in them. */
static struct object_walk walk_all(struct checker *c, struct av v)
{
	if (c->walk_room < c->n_objs) {
		c->walk_room = c->n_objs * 2;
		c->walk = heap_alloc(c->h, c->walk_room * sizeof(struct obj *));
	}
	struct object_walk w = {.item = c->walk, .stamp = ++c->n_walks, .m = v.m};
	if (!w.item)
		return w; /* memory is exhausted, so the checker will refuse the plan */
	walk_add(c, &w, v);
	for (uint32_t i = 0; i < w.n; i++) {
		const struct obj *o = w.item[i];
		walk_add(c, &w, c->cells[o->structure].v);
		walk_add(c, &w, c->cells[o->keys].v);
		walk_add(c, &w, c->cells[o->rest].v);
		walk_add(c, &w, o->beyond);
		for (uint32_t k = 0; k < o->n_fields; k++)
			walk_add(c, &w, c->cells[o->field[k].cell].v);
		if (o->kind == OBJ_METHOD)
			walk_add(c, &w, o->self);
	}
	(void)heap_pay(c->h, w.n);
	return w;
}

struct mark whole(struct checker *c, struct av v)
{
	return v.refs ? walk_all(c, v).m : v.m;
}

/* Return the mark that the value @v, for example an index, adds to an element that it selects.
 * If @v is a constant, and its origins are only those in c->own (plan, user and policy), @v
 * selects the same element in every run. The selection then reveals nothing, so the returned
 * mark is empty. */
struct mark chosen(struct checker *c, struct av v)
{
	struct mark m = whole(c, v);
	bool is_own = v.konst.type != T_UNSET && m.label != LABEL_FAILED &&
		label_is_subset(c->labels, label_get(c->labels, m.label).origins, c->own);
	return is_own ? (struct mark){0} : mark_choice(c, mark_unplanned(c, m));
}

/* Return whether @v contains only data, at any depth: no struct, function, tool or module. */
bool is_data(struct checker *c, struct av v)
{
	struct object_walk w = walk_all(c, v);
	for (uint32_t i = 0; i < w.n; i++)
		if (w.item[i]->kind >= OBJ_STRUCT)
			return false;
	return true;
}

static struct av all_fields(struct checker *c, const struct obj *o)
{
	struct av v = av_join(c, c->cells[o->rest].v, o->beyond);
	for (uint32_t k = 0; k < o->n_fields; k++)
		v = av_join(c, v, c->cells[o->field[k].cell].v);
	return v;
}

/*
 * Return @v, which was read from @from. If @v is unset, return a placeholder with the mark @m
 * instead. There are two reasons why @v may be unset:
 * - It is unknown to which objects @from refers. The placeholder then has an unknown type
 *   (N_TYPES).
 * - The objects are known, but have no elements. The placeholder is then None. A run never uses
 *   this None: reading an element of an empty object fails, and a loop over an empty object has no
 *   iteration.
 */
static struct av known(struct av v, struct av from, struct mark m)
{
	return v.type == T_UNSET ? av_of(m, from.refs ? T_NONE : N_TYPES) : v;
}

/*
 * Return the mark of an element that was taken from @v. @m is the join of the mark of @v and the
 * mark of the selection, such as an index.
 * - If the type of @v is known, the result is @m.
 * - If the type of @v is unknown, @v may be a text, and the element a piece of this text. A piece
 *   counts as a new value that is computed from the text: each origin becomes a giver, which means
 *   that its data is in the piece. If @v may be a literal of the plan, the piece also gets the
 *   origin "plan", because the planner chose the piece.
 */
static struct mark taken(struct checker *c, struct av v, struct mark m)
{
	/* If the type of @v is known here, @v is not a text. The reason: the callers
	 * element_of(), iterated() and item_of() call part_mark() for a text, instead of this
	 * function. */
	if (v.type != N_TYPES || v.m.label == LABEL_BOTTOM)
		return m;
	return m.is_others ? mark_made(c, m) : text_mark(c, m, c->at);
}

/* Return the join of all elements of @v. */
struct av element_of(struct checker *c, struct av v)
{
	struct av all = AV_NONE;
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++)
		all = av_join(c, all, all_fields(c, o));
	struct mark m = structure_of(c, v);
	if (!v.refs && v.type == T_STRING)
		return av_of(part_mark(c, m), T_STRING);
	m = taken(c, v, m);
	return av_with(c, known(all, v, m), m);
}

/* Return the join of all values that a loop over @v yields: the elements, or the keys of a dict. */
struct av iterated(struct checker *c, struct av v)
{
	struct av all = AV_NONE;
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++)
		all = av_join(c, all,
			o->kind == OBJ_DICT ? known(c->cells[o->keys].v, v, v.m)
					    : all_fields(c, o));
	struct mark m = structure_of(c, v);
	if (!v.refs && v.type == T_STRING)
		return av_of(part_mark(c, m), T_STRING);
	m = taken(c, v, m);
	return av_with(c, known(all, v, m), m);
}

static bool key_equal(struct val a, struct val b)
{
	if (a.type == T_STRING)
		return b.type == T_STRING && str_equal(a.str, b.str);
	return a.type == b.type && a.i == b.i;
}

/* Return whether @key may have a cell of its own. Only strings and ints may. A float or bool may
 * not, because 1.0 and True are the same key as 1. */
static bool is_plain_key(struct val key)
{
	return key.type == T_STRING || key.type == T_INT;
}

/*
 * Find the field of @o for the constant key @key. If there is none and @is_made is true, create the
 * field.
 * Returns: NULL if @key has no field and none was created: because @is_made is false, because @o
 * already has OBJ_FIELDS_MAX fields, or because memory is exhausted. A value that is stored under
 * @key then belongs in the cell o->rest, which joins all elements without a field.
 */
struct field *field_at(struct checker *c, struct obj *o, struct val key, bool is_made)
{
	for (uint32_t i = 0; i < o->n_fields; i++)
		if (key_equal(o->field[i].key, key))
			return &o->field[i];
	if (!is_made || o->n_fields == OBJ_FIELDS_MAX)
		return NULL;
	if (o->n_fields == o->field_room) {
		uint32_t room = o->field_room ? o->field_room * 2 : 4;
		struct field *field = heap_regrow(c->h, o->field, o->n_fields, room, sizeof *field);
		if (!field)
			return NULL;
		o->field = field;
		o->field_room = room;
	}
	uint32_t cell = cells_add(c, 1);
	if (cell == 0)
		return NULL;
	c->cells[cell].owner = o->structure;
	o->field[o->n_fields] = (struct field){key, cell};
	c->n_facts++;
	return &o->field[o->n_fields++];
}

/* Return the element of @o with the key @key. If the check cannot tell which element this is,
 * return the join of all elements. This is so, for example, if @key is not a constant, or if
 * @key is an index and @o is a list whose indexes are unknown (is_fuzzy). */
static struct av item_in(struct checker *c, struct obj *o, struct val key)
{
	bool is_place = o->kind == OBJ_LIST || o->kind == OBJ_TUPLE;
	bool is_told = is_plain_key(key) && o->kind != OBJ_ANY &&
		(!is_place || (key.type == T_INT && key.i >= 0 && !o->is_fuzzy));
	if (!is_told)
		return all_fields(c, o);
	const struct field *field = field_at(c, o, key, false);
	struct av v = c->cells[o->rest].v;
	return av_join(c, v, field ? c->cells[field->cell].v : o->beyond);
}

struct av item_of(struct checker *c, struct av v, struct av key)
{
	struct mark m = v.m;
	struct av all = AV_NONE;
	struct obj *o;
	m = mark_join(c, m, mark_capped(c, chosen(c, key), KIND_NUMBER));
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++) {
		all = av_join(c, all, item_in(c, o, key.konst));
		/* x[0] depends on the order of the elements, so it gets the mark of the
		 * structure. x["name"] does not: if the key is missing, the run ends. */
		bool is_named = (o->kind == OBJ_DICT || o->kind == OBJ_STRUCT) &&
			key.konst.type == T_STRING;
		if (!is_named)
			m = mark_join(c, m, cell_mark(c, o->structure));
	}
	if (!v.refs && v.type == T_STRING)
		return av_of(part_mark(c, m), T_STRING);
	if (key.konst.type != T_STRING)
		m = taken(c, v, m);
	return av_with(c, known(all, v, m), m);
}

static void touch(struct checker *c, uint32_t cell)
{
	/* Record that the cell is written, although its mark does not change. Later
	 * join_branches() needs the record: after an `if`, it adds the guard of the condition to
	 * each cell that a branch has written, and only to these cells. */
	cell_add(c, cell, av_of((struct mark){0}, N_TYPES));
}

static void set_in(struct checker *c, struct obj *o, struct av key, struct av x, bool is_only)
{
	bool is_place = o->kind == OBJ_LIST;
	bool is_told = is_plain_key(key.konst) &&
		(o->kind == OBJ_DICT || o->kind == OBJ_STRUCT ||
			(is_place && key.konst.type == T_INT && key.konst.i >= 0 && !o->is_fuzzy));
	struct field *field = is_told ? field_at(c, o, key.konst, !is_place) : NULL;
	if (field && is_only)
		cell_write(c, field->cell, x);
	else
		cell_add(c, field ? field->cell : o->rest, x);
	struct mark said = whole(c, key);
	if (!is_place)
		cell_add(c, o->keys, av_of(said, N_TYPES));
	cell_add(c, o->structure, av_of(mark_capped(c, chosen(c, key), KIND_NUMBER), N_TYPES));
}

/* Return whether @v refers to the same single object in every run. Updates of the object are
 * then strong. */
bool is_sure(struct checker *c, struct av v)
{
	const struct obj *o = obj_nth(c, v, 0);
	return o && !o->is_many && !obj_nth(c, v, 1);
}

void item_set(struct checker *c, struct av v, struct av key, struct av x)
{
	bool is_only = is_sure(c, v);
	struct obj *o;
	x = av_with(c, x, mark_capped(c, chosen(c, key), KIND_NUMBER));
	/* If @v may refer to several objects, the element reveals which of them was chosen. */
	if (!is_only)
		x = av_with(c, x, v.m);
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++) {
		if (!is_only)
			cell_add(c, o->structure, av_of(v.m, N_TYPES));
		set_in(c, o, key, x, is_only);
	}
}

/* Add the element @x to the objects of @v, at an unknown index. */
void element_add(struct checker *c, struct av v, struct av x)
{
	bool is_only = is_sure(c, v);
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++) {
		cell_add(c, o->rest, x);
		touch(c, o->structure);
		if (!is_only)
			cell_add(c, o->structure, av_of(v.m, N_TYPES));
		/* A set grows only if the element is new, so its length reveals something about its
		 * elements. */
		if (o->kind == OBJ_SET || o->kind == OBJ_ANY)
			cell_add(c, o->structure,
				av_of(mark_capped(c, whole(c, x), KIND_NUMBER), N_TYPES));
	}
}

/* Record that the indexes of the elements of @v are no longer known, because elements were moved
 * or removed. @why is the mark of the cause; it is joined to the mark of the structure of @v. */
void places_lost(struct checker *c, struct av v, struct mark why)
{
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++) {
		cell_add(c, o->structure, av_of(mark_join(c, why, v.m), N_TYPES));
		if (o->kind != OBJ_LIST)
			continue;
		c->n_facts += !o->is_fuzzy;
		o->is_fuzzy = true;
	}
}

/* Return the concrete value of @v if it is the same in every run; otherwise return a value of
 * type T_UNSET. A list becomes a tuple. */
struct val concrete(struct checker *c, struct av v, uint32_t depth)
{
	const struct obj *o = obj_nth(c, v, 0);
	struct val all;
	if (v.konst.type != T_UNSET)
		return v.konst;
	/* If obj_nth(c, v, 1) exists, @v may refer to more than one object. */
	if ((v.type != T_LIST && v.type != T_TUPLE) || !o || obj_nth(c, v, 1) ||
		depth == CONCRETE_DEPTH_MAX || o->is_many || o->is_fuzzy ||
		(o->kind != OBJ_LIST && o->kind != OBJ_TUPLE) || o->n_fields > CONCRETE_MAX ||
		c->cells[o->rest].v.type != T_UNSET ||
		c->cells[o->structure].v.m.label != LABEL_BOTTOM ||
		tuple_new(c->h, o->n_fields, &all) < 0)
		return VAL_UNSET;
	for (uint32_t i = 0; i < o->n_fields; i++) {
		struct val x = concrete(c, c->cells[o->field[i].cell].v, depth + 1);
		if (x.type == T_UNSET)
			return VAL_UNSET;
		all.tuple->item[i] = x;
	}
	return all;
}
