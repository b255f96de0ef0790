/* Find the variable that each name refers to. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/resolve.h"

#include "base/word.h"
#include "plan/value/native.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_ROOM = 64 }; /* initial size */

/* What a name refers to at the current place: a symbol, or NULL if the name is undefined. */
struct name {
	struct symbol *binding;
};

/* A block of names: those of the file, of a function or of a comprehension. The open blocks form a
 * stack. */
struct block {
	struct block *outer;
	struct symbol *symbols;
	struct scope *scope;
};

struct resolver {
	struct heap *h;
	const struct source *src;
	const struct dialect *dialect;
	struct diags *diags;
	struct table *names; /* maps the text of a name to a T_INT, the index in `item` */
	struct name *item;
	uint32_t n_items, room;
	struct block *block, *file_block;
	uint32_t n_loops;
	bool in_control; /* the current place is inside an if, for or while */
	const struct predeclared *predeclared;
	size_t n_predeclared;
};

static int fail(struct resolver *r, int code, const struct node *node, const char *hint,
	const char *fmt, ...) attr_printf(5, 6);
static int fail(struct resolver *r, int code, const struct node *node, const char *hint,
	const char *fmt, ...)
{
	struct diag d = {.code = code, .start = node->start, .end = node->end};
	va_list args;
	va_start(args, fmt);
	vsnprintf(d.msg, sizeof d.msg, fmt, args);
	va_end(args);
	snprintf(d.hint, sizeof d.hint, "%s", hint);
	(void)diag_add(r->diags, r->src, &d);
	return 0; /* not -1, so that the resolver continues and reports further mistakes */
}

/* Return the index of the name @text in r->item, the array of all names. If the name is not in
 * the array, add it. Returns: UINT32_MAX if memory is exhausted. */
static uint32_t intern(struct resolver *r, struct val text)
{
	int64_t at = table_find(r->h, r->names, text);
	if (at >= 0)
		return (uint32_t)r->names->entry[at].value.i;
	if (at == -2)
		return UINT32_MAX;
	if (r->n_items == r->room) {
		uint32_t room = r->room * 2;
		struct name *item = heap_regrow(r->h, r->item, r->n_items, room, sizeof *item);
		if (!item)
			return UINT32_MAX;
		/* The array may move, because symbols refer to its names by index, not by
		 * pointer. */
		r->item = item;
		r->room = room;
	}
	r->item[r->n_items] = (struct name){0};
	if (table_put(r->h, r->names, text, VAL_INT(r->n_items)) < 0)
		return UINT32_MAX;
	return r->n_items++;
}

static int add_slot(struct resolver *r, struct scope *scope, struct symbol *symbol)
{
	if (scope->n_slots == scope->slot_room) {
		uint32_t room = scope->slot_room ? scope->slot_room * 2 : 8;
		struct symbol **item =
			heap_regrow(r->h, scope->slot_symbols, scope->n_slots, room, sizeof *item);
		if (!item)
			return -1;
		scope->slot_symbols = item;
		scope->slot_room = room;
	}
	symbol->slot = scope->n_slots;
	scope->slot_symbols[scope->n_slots++] = symbol;
	return 0;
}

/* Find the symbol of the name @text in the current block, or create it. Returns: NULL if memory is
 * exhausted. */
static struct symbol *bind(struct resolver *r, struct val text, uint32_t at)
{
	uint32_t id = intern(r, text);
	if (id == UINT32_MAX)
		return NULL;
	struct symbol *old = r->item[id].binding;
	if (old && old->block == r->block)
		return old;
	struct symbol *s = heap_zero(r->h, sizeof *s);
	if (!s)
		return NULL;
	bool is_global = r->block == r->file_block;
	*s = (struct symbol){.kind = is_global ? SYMBOL_GLOBAL : SYMBOL_LOCAL,
		.name = text,
		.bound_at = at,
		.owner = r->block->scope,
		.shadowed = old,
		.next = r->block->symbols,
		.slot = id,
		.block = r->block};
	/* s->of contains the index of the name in the array r->item. It does not point to the
	 * name, because the array may move when it grows. pop_block() reads this index. */
	s->of = (struct name *)(uintptr_t)id;
	r->block->symbols = s;
	r->item[id].binding = s;
	return add_slot(r, r->block->scope, s) < 0 ? NULL : s;
}

static void pop_block(struct resolver *r)
{
	for (struct symbol *s = r->block->symbols; s; s = s->next)
		r->item[(uintptr_t)s->of].binding = s->shadowed;
	r->block = r->block->outer;
}

static int bind_target(struct resolver *r, struct node *target)
{
	if (target->kind == NODE_NAME) {
		target->symbol = bind(r, target->value, target->start);
		return target->symbol ? 0 : -1;
	}
	if (target->kind != NODE_TUPLE && target->kind != NODE_LIST && target->kind != NODE_STARRED)
		return 0;
	for (uint32_t i = 0; i < target->n; i++)
		if (bind_target(r, target->kid[i]) < 0)
			return -1;
	return 0;
}

/* Create the symbols of all names that a statement binds, except inside nested functions. */
static int collect(struct resolver *r, struct node *node)
{
	switch ((int)node->kind) {
	case NODE_ASSIGN:
	case NODE_AUGMENTED:
		return bind_target(r, node->kid[0]);
	case NODE_DEF:
		return bind_target(r, node->kid[0]);
	case NODE_FOR:
		return bind_target(r, node->kid[0]) < 0 ? -1 : collect(r, node->kid[2]);
	case NODE_LOAD:
		for (uint32_t i = 1; i < node->n; i++)
			if (bind_target(r, node->kid[i]->kid[0]) < 0)
				return -1;
		return 0;
	case NODE_WHILE:
		return collect(r, node->kid[1]);
	case NODE_IF:
		for (uint32_t i = 0; i < node->n; i++)
			if (node->kid[i]->kind == NODE_BLOCK && collect(r, node->kid[i]) < 0)
				return -1;
		return 0;
	case NODE_BLOCK:
		for (uint32_t i = 0; i < node->n; i++)
			if (collect(r, node->kid[i]) < 0)
				return -1;
		return 0;
	default:
		return 0;
	}
}

static int capture(struct resolver *r, struct symbol *symbol)
{
	symbol->is_cell = true;
	for (struct scope *s = r->block->scope; s && s != symbol->owner; s = s->outer) {
		bool has = false;
		for (uint32_t i = 0; i < s->n_captured && !has; i++)
			has = s->captured[i] == symbol;
		if (has)
			return 0;
		if (s->n_captured == s->captured_room) {
			uint32_t room = s->captured_room ? s->captured_room * 2 : 4;
			struct symbol **item =
				heap_regrow(r->h, s->captured, s->n_captured, room, sizeof *item);
			if (!item)
				return -1;
			s->captured = item;
			s->captured_room = room;
		}
		s->captured[s->n_captured++] = symbol;
	}
	return 0;
}

#define ASK_HINT "ask(question, data, type) asks a model that has no tools"

/* Return a hint for a name of Python that the language lacks; NULL for any other name. */
static const char *python_name(struct val name)
{
	static const char *const rows[][2] = {
		{"eval", "there is no eval: write the code in the plan"},
		{"exec", "there is no exec: write the code in the plan"},
		{"load", "a plan is one file: write what it needs into it, or call a tool"},
		{"open", "call a tool to read or write files"},
		{"input", "approve(value, reason) asks a person"},
		{"map", "use a list comprehension: [f(x) for x in y]"},
		{"filter", "use a list comprehension: [x for x in y if f(x)]"},
		{"setattr", "use a dict: d[\"name\"] = value"},
		{"delattr", "use a dict: d.pop(\"name\")"},
		{"frozenset", "use set() or a tuple"},
		{"object", "use struct() or a dict"},
		{"super", "classes are not in the language"},
		{"next", "take the first element: list(x)[0]"},
		{"iter", "loop over the value itself"},
		{"Exception", "fail(\"what is wrong\") stops the plan"},
		{"globals", "there is no access to all names"},
		{"locals", "there is no access to all names"},
		{"format", "use an f-string or \"…\".format(value)"},
		{"pow", "use **, or multiply"},
		{"divmod", "use // and %"},
		{"sum", "add in a loop"},
		{"isinstance", "compare type(x) with a string"},
		{"QuarantineLLM", ASK_HINT},
		{"QuarantinedLLM", ASK_HINT},
		{"query_ai_assistant", ASK_HINT},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_is(name, rows[i][0]))
			return rows[i][1];
	return NULL;
}

static int undefined(struct resolver *r, const struct node *node)
{
	char hint[DIAG_HINT_BYTES] = "", word[WORD_MAX_BYTES];
	static const char ask[] = ".ask(";
	const struct source *src = r->src;
	bool is_asked = src->bytes - node->end >= sizeof ask &&
		strncmp(src->text + node->end, ask, sizeof ask - 1) == 0;
	const char *other = is_asked ? ASK_HINT : python_name(node->value);
	snprintf(word, sizeof word, "%.60s", node->value.str->data);
	struct word_near near = WORD_NEAR(word);
	const struct entry *e;
	uint32_t at = 0;
	while (!other && (e = table_next(r->names, &at)) && at < 1000)
		if (r->item[e->value.i].binding)
			word_near_try(&near, e->key.str->data);
	if (other)
		snprintf(hint, sizeof hint, "%s", other);
	else if (near.best)
		snprintf(hint, sizeof hint, "did you mean %s?", near.best);
	return fail(r, P_UNDEFINED, node, hint, "undefined: %.80s", node->value.str->data);
}

static int use(struct resolver *r, struct node *node)
{
	uint32_t id = intern(r, node->value);
	if (id == UINT32_MAX)
		return -1;
	struct symbol *s = r->item[id].binding;
	if (!s)
		return undefined(r, node);
	node->symbol = s;
	if (s->kind == SYMBOL_LOCAL && s->owner != r->block->scope)
		return capture(r, s);
	return 0;
}

static int walk(struct resolver *r, struct node *node);

static int walk_kids(struct resolver *r, struct node *node, uint32_t from)
{
	for (uint32_t i = from; i < node->n; i++)
		if (node->kid[i] && walk(r, node->kid[i]) < 0)
			return -1;
	return 0;
}

/* Report a global that is bound twice, in a dialect that forbids this. */
static int check_global(struct resolver *r, const struct node *name)
{
	uint32_t line, column;
	struct symbol *s = name->symbol;
	if (!s || s->kind != SYMBOL_GLOBAL || s->n_bound++ == 0 || r->dialect->global_reassign)
		return 0;
	source_place(r->src, s->bound_at, &line, &column);
	return fail(r, P_REASSIGNED, name, "give it another name, or put the code into a function",
		"cannot reassign global %.80s declared at line %u", s->name.str->data, line);
}

/* Resolve the target of an assignment. If the target is a name, collect() has already bound it.
 * In x[i] = v and x.a = v, x and i are ordinary uses. */
static int walk_target(struct resolver *r, struct node *target)
{
	if (target->kind == NODE_NAME)
		return check_global(r, target);
	if (target->kind == NODE_TUPLE || target->kind == NODE_LIST ||
		target->kind == NODE_STARRED) {
		for (uint32_t i = 0; i < target->n; i++)
			if (walk_target(r, target->kid[i]) < 0)
				return -1;
		return 0;
	}
	return walk(r, target);
}

/* Resolve a function. The defaults of parameters belong to the enclosing block, the body belongs to
 * the block of the function. */
static int walk_function(struct resolver *r, struct node *node)
{
	uint32_t first = node->kind == NODE_DEF ? 1 : 0;
	struct node *body = node->kid[node->n - 1];
	struct block block = {.outer = r->block};
	uint32_t n_loops = r->n_loops;
	bool in_control = r->in_control;
	for (uint32_t i = first; i < first + node->n_params; i++)
		if (node->kid[i]->kid[0] && walk(r, node->kid[i]->kid[0]) < 0)
			return -1;
	node->scope = block.scope = heap_zero(r->h, sizeof *node->scope);
	if (!node->scope)
		return -1;
	node->scope->outer = r->block->scope;
	r->block = &block;
	r->n_loops = 0;
	r->in_control = false;
	int rc = 0;
	for (uint32_t i = first; rc == 0 && i < first + node->n_params; i++)
		if (node->kid[i]->value.type &&
			!(node->kid[i]->symbol = bind(r, node->kid[i]->value, node->kid[i]->start)))
			rc = -1;
	if (rc == 0 && node->kind == NODE_DEF)
		rc = collect(r, body);
	if (rc == 0)
		rc = walk(r, body);
	pop_block(r);
	r->n_loops = n_loops;
	r->in_control = in_control;
	return rc;
}

/* Resolve a comprehension. The first iterable belongs to the enclosing block, everything else
 * belongs to the block of the comprehension. */
static int walk_comprehension(struct resolver *r, struct node *node)
{
	uint32_t n_body = node->kind == NODE_DICT_COMP ? 2 : 1;
	struct block block = {.outer = r->block, .scope = r->block->scope};
	if (walk(r, node->kid[n_body]->kid[1]) < 0)
		return -1;
	r->block = &block;
	int rc = 0;
	/* Bind the variables of all clauses first, because the clauses share one block. So an
	 * earlier clause may name the variable of a later clause, although that variable has no
	 * value yet. */
	for (uint32_t i = n_body; rc == 0 && i < node->n; i++)
		if (node->kid[i]->kind == NODE_CLAUSE_FOR)
			rc = bind_target(r, node->kid[i]->kid[0]);
	for (uint32_t i = n_body; rc == 0 && i < node->n; i++) {
		struct node *clause = node->kid[i];
		if (clause->kind == NODE_CLAUSE_IF) {
			rc = walk(r, clause->kid[0]);
			continue;
		}
		if (i > n_body)
			rc = walk(r, clause->kid[1]);
		if (rc == 0)
			rc = walk_target(r, clause->kid[0]);
	}
	for (uint32_t i = 0; rc == 0 && i < n_body; i++)
		rc = walk(r, node->kid[i]);
	pop_block(r);
	return rc;
}

static int check_place(struct resolver *r, const struct node *node)
{
	bool is_top = r->block->scope == r->file_block->scope;
	if ((node->kind == NODE_BREAK || node->kind == NODE_CONTINUE) && r->n_loops == 0)
		return fail(r, P_PLACE, node, "", "%s not in a loop",
			node->kind == NODE_BREAK ? "break" : "continue");
	if (node->kind == NODE_LOAD && (!is_top || r->in_control))
		return fail(r, P_PLACE, node, "put it at the top of the file",
			"load statement within a %s", !is_top ? "function" : "conditional or loop");
	if (is_top && !r->dialect->top_level_control &&
		(node->kind == NODE_IF || node->kind == NODE_FOR || node->kind == NODE_WHILE))
		return fail(r, P_PLACE, node, "put it into a function and call it",
			"%s not within a function", node_text(node->kind));
	return 0;
}

static int walk_load(struct resolver *r, struct node *node)
{
	for (uint32_t i = 1; i < node->n; i++) {
		struct node *binding = node->kid[i];
		if (check_global(r, binding->kid[0]) < 0)
			return -1;
		if (binding->value.str->n_bytes > 0 && binding->value.str->data[0] == '_')
			(void)fail(r, P_LOAD, binding, "",
				"names with leading underscores are not exported: %.80s",
				binding->value.str->data);
	}
	return 0;
}

static int walk_import(struct resolver *r, const struct node *node)
{
	for (uint32_t i = 0; i < node->n; i++) {
		uint32_t id = intern(r, node->kid[i]->value);
		if (id == UINT32_MAX)
			return -1;
		if (!r->item[id].binding)
			(void)fail(r, P_MODULE, node->kid[i],
				"leave the import out: existing modules need none",
				"there is no %.80s to import", node->kid[i]->value.str->data);
	}
	return 0;
}

static int walk_loop(struct resolver *r, struct node *node)
{
	bool in_control = r->in_control;
	bool is_for = node->kind == NODE_FOR;
	int rc = walk(r, node->kid[is_for ? 1 : 0]);
	if (rc == 0 && is_for)
		rc = walk_target(r, node->kid[0]);
	r->n_loops++;
	r->in_control = true;
	if (rc == 0)
		rc = walk(r, node->kid[node->n - 1]);
	r->n_loops--;
	r->in_control = in_control;
	return rc;
}

static int walk_if(struct resolver *r, struct node *node)
{
	bool in_control = r->in_control;
	r->in_control = true;
	int rc = walk_kids(r, node, 0);
	r->in_control = in_control;
	return rc;
}

/* Resolve an attribute such as mail.search. If mail is a variable that hides the tools whose names
 * begin with "mail.", report this. */
static int walk_dot(struct resolver *r, struct node *node)
{
	const struct node *of = node->kid[0];
	if (walk_kids(r, node, 0) < 0)
		return -1;
	const struct symbol *s = of->kind == NODE_NAME ? of->symbol : NULL;
	if (!s || s->kind == SYMBOL_PREDECLARED || native_is_method(node->value))
		return 0;
	while (s->shadowed)
		s = s->shadowed;
	return s->is_prefix ? fail(r, P_SHADOWED, node, "give the variable another name",
				      "%.80s is a variable here, so this is not %.80s.%.80s",
				      s->name.str->data, s->name.str->data, node->value.str->data)
			    : 0;
}

static int walk(struct resolver *r, struct node *node)
{
	if (check_place(r, node) < 0)
		return -1;
	switch ((int)node->kind) {
	case NODE_NAME:
		return use(r, node);
	case NODE_DOT:
		return walk_dot(r, node);
	case NODE_LIST_COMP:
	case NODE_SET_COMP:
	case NODE_DICT_COMP:
		return walk_comprehension(r, node);
	case NODE_LAMBDA:
		return walk_function(r, node);
	case NODE_DEF:
		return check_global(r, node->kid[0]) < 0 ? -1 : walk_function(r, node);
	case NODE_AUGMENTED:
	case NODE_ASSIGN:
		return walk_kids(r, node, 1) < 0 ? -1 : walk_target(r, node->kid[0]);
	case NODE_FOR:
	case NODE_WHILE:
		return walk_loop(r, node);
	case NODE_IF:
		return walk_if(r, node);
	case NODE_LOAD:
		return walk_load(r, node);
	case NODE_IMPORT:
		return walk_import(r, node);
	default:
		return walk_kids(r, node, 0);
	}
}

static int predeclare(struct resolver *r)
{
	for (size_t i = 0; i < r->n_predeclared; i++) {
		struct val text;
		struct symbol *s = heap_zero(r->h, sizeof *s);
		if (!s || str_of(r->h, r->predeclared[i].name, &text) < 0)
			return -1;
		uint32_t id = intern(r, text);
		if (id == UINT32_MAX)
			return -1;
		*s = (struct symbol){.kind = SYMBOL_PREDECLARED,
			.name = text,
			.value = r->predeclared[i].value,
			.is_prefix = r->predeclared[i].is_prefix};
		r->item[id].binding = s;
	}
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): one parameter per input */
int tree_resolve(struct heap *h, const struct source *src, const struct dialect *dialect,
	const struct predeclared *names, size_t n_names, struct diags *diags, struct node *file)
{
	struct val table;
	struct block block = {0};
	struct resolver r = {.h = h,
		.src = src,
		.dialect = dialect,
		.diags = diags,
		.block = &block,
		.file_block = &block,
		.predeclared = names,
		.n_predeclared = n_names};
	size_t n_before = diags->n_all;
	if (table_new(h, T_DICT, 0, &table) < 0)
		return -1;
	r.names = table.table;
	r.room = NAMES_ROOM;
	r.item = heap_alloc(h, r.room * sizeof *r.item);
	file->scope = block.scope = heap_zero(h, sizeof *file->scope);
	if (!r.item || !file->scope || predeclare(&r) < 0 || collect(&r, file) < 0 ||
		walk_kids(&r, file, 0) < 0)
		return -1;
	return diags->n_all > n_before ? -1 : 0;
}
