/*
 * The abstract store: cells, and regions whose changes can be undone and joined.
 *
 * Both branches of a condition must be evaluated from the same state. Copying the store would take
 * quadratic time, so the store is changed in place. A trail (as in a Prolog machine) records the
 * cells that each region changed, with their old values.
 *
 * state_begin() opens a region. state_end() undoes the changes of the region and returns them. With
 * these functions, an `if` with the branches A and B is evaluated like this:
 *
 *	begin; evaluate A; a = end;  begin; evaluate B; b = end;  join_branches(a, b, guard)
 *
 * join_branches() joins the two values of each cell, and adds the guard of the condition to every
 * cell that A or B changed. In this way the check covers the implicit flow through the branch
 * that a run does not take. Cells that neither branch changed keep their labels.
 *
 * There are two kinds of updates:
 * - A strong update replaces the old value. Variables get strong updates.
 * - A weak update joins the new value to the old one. It is needed for a cell that stands for
 *   several places at run time: a field of an object with is_many, or a variable that closures
 *   share.
 *
 * The file also contains struct map, a hash table from a key of three integers to a number. The
 * checker uses it to find again what it has created: for example, the object that belongs to an
 * allocation site, a calling context and a tag.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include <string.h>

static uint64_t hash_key(uint64_t a, uint64_t b, uint64_t d)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 29 ^ d) * 0x94d049bb133111ebu;
	return h ^ h >> 32;
}

static void map_put(struct map *map, struct map_entry e)
{
	uint32_t at = (uint32_t)hash_key(e.a, e.b, e.c) & (map->room - 1);
	while (map->entry[at].value)
		at = (at + 1) & (map->room - 1);
	map->entry[at] = e;
	map->n++;
}

static int map_grow(struct checker *c, struct map *map)
{
	struct map now = {.room = map->room ? map->room * 2 : 64};
	now.entry = heap_zero(c->h, now.room * sizeof *now.entry);
	if (!now.entry)
		return -1;
	for (uint32_t i = 0; i < map->room; i++)
		if (map->entry[i].value)
			map_put(&now, map->entry[i]);
	if (map->room)
		heap_release(c->h, map->entry, map->room * sizeof *map->entry);
	*map = now;
	return 0;
}

/*
 * Find the number that belongs to the key (@a, @b, @d). A new key is inserted with the number
 * UINT32_MAX.
 * Returns: a pointer to the number, which is valid until the next call; NULL if memory is
 * exhausted.
 */
uint32_t *map_at(struct checker *c, struct map *map, uint64_t a, uint64_t b, uint64_t d)
{
	if (map->n * 2 >= map->room && map_grow(c, map) < 0)
		return NULL;
	uint32_t at = (uint32_t)hash_key(a, b, d) & (map->room - 1);
	for (; map->entry[at].value; at = (at + 1) & (map->room - 1)) {
		struct map_entry *e = &map->entry[at];
		if (e->a == a && e->b == b && e->c == d)
			return &e->value;
	}
	map->entry[at] = (struct map_entry){a, b, d, UINT32_MAX};
	map->n++;
	return &map->entry[at].value;
}

/* Create @n cells without a value. Returns: the number of the first cell; 0 if memory is
 * exhausted. */
uint32_t cells_add(struct checker *c, uint32_t n)
{
	while (c->n_cells + n > c->cell_room) {
		uint32_t room = c->cell_room ? c->cell_room * 2 : 256;
		struct place *cells =
			heap_regrow(c->h, c->cells, c->n_cells, room, sizeof *c->cells);
		if (!cells)
			return 0;
		c->cells = cells;
		c->cell_room = room;
	}
	for (uint32_t i = 0; i < n; i++)
		c->cells[c->n_cells + i] = (struct place){.v = AV_NONE};
	c->n_cells += n;
	return c->n_cells - n;
}

static int change_add(struct checker *c, struct changes *all, struct cell_change one)
{
	if (all->n == all->room) {
		uint32_t room = all->room ? all->room * 2 : 16;
		struct cell_change *item = heap_regrow(c->h, all->item, all->n, room, sizeof *item);
		if (!item)
			return -1;
		all->item = item;
		all->room = room;
	}
	all->item[all->n++] = one;
	return 0;
}

void changes_done(struct checker *c, struct changes *all)
{
	if (all->room)
		heap_release(c->h, all->item, all->room * sizeof *all->item);
	*all = (struct changes){0};
}

static void cell_put(struct checker *c, uint32_t cell, struct av v)
{
	struct place *at = &c->cells[cell];
	if (at->region != c->region) {
		if (change_add(c, &c->trail, (struct cell_change){cell, at->region, false, at->v}) <
			0)
			return;
		at->region = c->region;
	}
	at->v = v;
}

/*
 * Replace the value of a cell by @v (a strong update). If the cell is shared, join @v to the old
 * value instead.
 *
 * In both cases @v first gets the guards of all earlier breaks, continues and returns, which are in
 * c->broken and c->returned. For example, if "y = 1" comes after "if x: break", the run reaches the
 * write of y only if x was false. So y reveals x, and gets the guard of x.
 *
 * The guards of the branches that are still open are not added here. join_branches() adds them at
 * the end of each branch.
 */
void cell_write(struct checker *c, uint32_t cell, struct av v)
{
	if (cell == 0)
		return;
	if (v.type != T_UNSET)
		v = av_with(c, v, mark_join(c, c->broken, c->returned));
	cell_put(c, cell, c->cells[cell].is_shared ? av_join(c, c->cells[cell].v, v) : v);
}

/* Join @v to the value of a cell (a weak update). The cell stands for several places of a run,
 * and only one of them changes. */
void cell_add(struct checker *c, uint32_t cell, struct av v)
{
	if (cell == 0 || v.type == T_UNSET)
		return;
	v = av_with(c, v, mark_join(c, c->broken, c->returned));
	cell_put(c, cell, av_join(c, c->cells[cell].v, v));
}

/* Begin a region. Returns: the enclosing region, which the caller must pass to state_end(). */
uint32_t state_begin(struct checker *c)
{
	uint32_t before = c->region;
	/* A trail entry with cell 0 marks the beginning of the region. */
	(void)change_add(c, &c->trail, (struct cell_change){.cell = 0});
	c->region = ++c->n_regions;
	return before;
}

/* End the current region and undo its changes. Returns: the changes. Owns: the caller must call
 * changes_done(). */
struct changes state_end(struct checker *c, uint32_t before)
{
	struct changes all = {0};
	while (c->trail.n > 0) {
		struct cell_change *old = &c->trail.item[--c->trail.n];
		if (old->cell == 0)
			break;
		struct place *at = &c->cells[old->cell];
		(void)change_add(c, &all, (struct cell_change){old->cell, 0, false, at->v});
		at->v = old->v;
		at->region = old->region;
	}
	c->region = before;
	return all;
}

void apply_changes(struct checker *c, const struct changes *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		cell_put(c, all->item[i].cell, all->item[i].v);
}

/*
 * Set the member is_new of each changed cell that had no value before the branch. A cell had no
 * value if its variable was unassigned, or if the object to which the cell belongs did not exist.
 *
 * joined() uses is_new. A new cell that only one branch sets does not get the guard of the
 * condition. This is sound: in a run that took the other branch, the cell has no value, so the run
 * would end at the first read of the cell.
 *
 * A new field of an older object is not marked as new. The plan can observe that the field is
 * missing, so the guard must be added.
 */
static void find_new(const struct checker *c, struct changes *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct place *at = &c->cells[all->item[i].cell];
		all->item[i].is_new = at->v.type == T_UNSET &&
			(at->owner == 0 || c->cells[at->owner].v.type == T_UNSET);
	}
}

static struct av joined(
	struct checker *c, struct av old, const struct cell_change *change, struct mark guard)
{
	return change->is_new && old.type == T_UNSET ? change->v
						     : av_choice(c, old, change->v, guard);
}

/* Return the value that a cell has after two branches are joined. @change is the change of the
 * cell in one branch, @old is the value of the cell in the other branch. */
static struct av decided(
	struct checker *c, struct av old, const struct cell_change *change, struct mark guard)
{
	struct av v = joined(c, old, change, guard);
	bool is_variable = old.type != T_UNSET && c->cells[change->cell].owner == 0;
	return is_variable ? av_decided(c, v, guard) : v;
}

/* Join the changes of two branches into the state. A branch that ended with a jump is dead:
 * control does not reach the join from it, so its changes are ignored. */
void join_branches(struct checker *c, struct changes *a, bool is_a_dead, struct changes *b,
	bool is_b_dead, struct mark guard)
{
	if (is_a_dead || is_b_dead) {
		const struct changes *live = is_a_dead ? b : a;
		/* Control reaches the join only from the live branch, so every write of that
		 * branch reveals that the branch was taken. */
		for (uint32_t i = 0; !(is_a_dead && is_b_dead) && i < live->n; i++)
			cell_put(c, live->item[i].cell, av_with(c, live->item[i].v, guard));
		return;
	}
	find_new(c, a);
	find_new(c, b);
	for (uint32_t i = 0; i < a->n; i++)
		c->cells[a->item[i].cell].other = i + 1;
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t cell = b->item[i].cell, at = c->cells[cell].other;
		struct av other = at ? a->item[at - 1].v : c->cells[cell].v;
		cell_put(c, cell, decided(c, other, &b->item[i], guard));
		c->cells[cell].other = UINT32_MAX;
	}
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t cell = a->item[i].cell;
		if (c->cells[cell].other != UINT32_MAX)
			cell_put(c, cell, decided(c, c->cells[cell].v, &a->item[i], guard));
		c->cells[cell].other = 0;
	}
	for (uint32_t i = 0; i < b->n; i++)
		c->cells[b->item[i].cell].other = 0;
}

/* Join the changes of another path, such as an iteration of a loop, into the state. Returns:
 * true if a value changed. */
bool join_changes(struct checker *c, struct changes *all, struct mark guard)
{
	bool is_changed = false;
	find_new(c, all);
	for (uint32_t i = 0; i < all->n; i++) {
		uint32_t cell = all->item[i].cell;
		struct av old = c->cells[cell].v;
		struct av now = joined(c, old, &all->item[i], guard);
		is_changed |= !av_equal(old, now);
		/* Write the cell even if its value stays the same, so that the enclosing region
		 * records the write. For example, if these changes come from a loop in a branch
		 * of an `if`, join_branches() later adds the guard of the `if` to each cell that
		 * was written in the branch. */
		cell_put(c, cell, now);
	}
	return is_changed;
}

/* At a break, continue or return, join the current state into @exits, the state at the target of
 * the jump. */
void exits_add(struct checker *c, struct exits *exits)
{
	exits->is_used = true;
	for (uint32_t i = 0; i < exits->all.n; i++)
		c->cells[exits->all.item[i].cell].other = i + 1;
	for (uint32_t i = exits->trail; i < c->trail.n; i++) {
		uint32_t cell = c->trail.item[i].cell;
		if (cell == 0)
			continue;
		struct place *at = &c->cells[cell];
		if (at->other) {
			struct cell_change *known = &exits->all.item[at->other - 1];
			known->v = av_join(c, known->v, at->v);
		} else if (change_add(c, &exits->all,
				   (struct cell_change){cell, 0, false, at->v}) == 0) {
			at->other = exits->all.n;
		}
	}
	for (uint32_t i = 0; i < exits->all.n; i++)
		c->cells[exits->all.item[i].cell].other = 0;
}
