/* Parse statements. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/inside.h"

#include "plan/value/str.h"

#include <stdarg.h>
#include <string.h>

const char *node_text(enum node_kind kind)
{
	static const char *const texts[] = {
#define X(symbol, text, kids) text,
#include "plan/syntax/tree.def"
	};
	return (size_t)kind < ARRAY_LEN(texts) ? texts[kind] : "?";
}

int advance(struct parser *p)
{
	p->last_end = p->token.end;
	return lex_next(&p->lex, &p->token);
}

bool is_at(const struct parser *p, enum token_kind kind)
{
	return p->token.kind == kind;
}

int expect(struct parser *p, enum token_kind kind, const char *what)
{
	return is_at(p, kind) ? advance(p) : unexpected(p, what);
}

int deeper(struct parser *p)
{
	if (p->depth++ < PARSE_DEPTH_MAX)
		return 0;
	return fail_token(p, P_LIMIT, "nested too deeply: more than 250 levels",
		"give the inner parts names");
}

int kids_add(struct parser *p, struct kids *kids, struct node *node)
{
	if (kids->n == kids->room) {
		uint32_t room = kids->room ? kids->room * 2 : 4;
		struct node **item = heap_regrow(p->h, kids->item, kids->n, room, sizeof *item);
		if (!item)
			return -1;
		heap_release(p->h, kids->item, kids->room * sizeof *item);
		kids->item = item;
		kids->room = room;
	}
	kids->item[kids->n++] = node;
	return 0;
}

struct node *node_new(struct parser *p, enum node_kind kind, uint32_t start, struct kids *kids)
{
	struct node *node = heap_zero(p->h, sizeof *node);
	if (!node)
		return NULL;
	*node = (struct node){
		.kind = (uint8_t)kind, .start = start, .end = p->last_end, .at = start};
	uint16_t depth = 0;
	for (uint32_t i = 0; kids && i < kids->n; i++)
		if (kids->item[i])
			depth = MAX(depth, kids->item[i]->depth);
	node->depth = depth + 1;
	if (node->depth > TREE_DEPTH_MAX) {
		(void)lex_fail(&p->lex, P_LIMIT, start, start + 1,
			"an expression of more than %d levels", TREE_DEPTH_MAX);
		(void)lex_hint(&p->lex, "split it into several assignments, or join a list");
		return NULL;
	}
	if (kids) {
		node->kid = kids->item;
		node->n = kids->n;
	}
	return node;
}

struct node *node_of(struct parser *p, enum node_kind kind, uint32_t start, size_t n, ...)
{
	struct kids kids = {0};
	va_list args;
	va_start(args, n);
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = kids_add(p, &kids, va_arg(args, struct node *));
	va_end(args);
	return r == 0 ? node_new(p, kind, start, &kids) : NULL;
}

struct node *node_name(struct parser *p)
{
	struct token t = p->token;
	if (expect(p, TOK_NAME, "an identifier") < 0)
		return NULL;
	struct node *node = node_new(p, NODE_NAME, t.start, NULL);
	if (node)
		node->value = t.value;
	return node;
}

static int parse_statement(struct parser *p, struct kids *out);
static int parse_simple(struct parser *p, struct kids *out);

/* Parse the body of a compound statement from ":" on: an indented block, or statements on the same
 * line. */
static struct node *parse_block(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	int r = deeper(p);
	if (r == 0)
		r = expect(p, TOK_COLON, "':'");
	if (r == 0 && is_at(p, TOK_NEWLINE)) {
		r = advance(p);
		if (r == 0 && !is_at(p, TOK_INDENT))
			return (void)fail_token(p, P_INDENT, "expected an indented block",
				       "indent it with four spaces, or write pass"),
			       NULL;
		r = r < 0 ? -1 : advance(p);
		start = p->token.start;
		while (r == 0 && !is_at(p, TOK_OUTDENT) && !is_at(p, TOK_EOF))
			r = parse_statement(p, &kids);
		if (r == 0 && is_at(p, TOK_OUTDENT))
			r = advance(p);
	} else if (r == 0) {
		r = parse_simple(p, &kids);
	}
	p->depth--;
	return r == 0 ? node_new(p, NODE_BLOCK, start, &kids) : NULL;
}

static int reject_loop_else(struct parser *p)
{
	return fail_token(
		p, P_PYTHON, "a loop has no else", "set a flag in the loop and test it behind");
}

static struct node *parse_if(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	while (is_at(p, TOK_IF) || is_at(p, TOK_ELIF)) {
		struct node *test = advance(p) < 0 ? NULL : parse_test(p);
		struct node *block = test ? parse_block(p) : NULL;
		if (!block || kids_add(p, &kids, test) < 0 || kids_add(p, &kids, block) < 0)
			return NULL;
		if (is_at(p, TOK_IF))
			break;
	}
	if (is_at(p, TOK_ELSE)) {
		struct node *block = advance(p) < 0 ? NULL : parse_block(p);
		if (!block || kids_add(p, &kids, block) < 0)
			return NULL;
	}
	return node_new(p, NODE_IF, start, &kids);
}

static struct node *parse_for(struct parser *p)
{
	uint32_t start = p->token.start;
	struct node *target = advance(p) < 0 ? NULL : parse_targets(p);
	if (!target || check_target(p, target, false) < 0 || expect(p, TOK_IN, "'in'") < 0)
		return NULL;
	struct node *iterable = parse_exprs(p);
	struct node *block = iterable ? parse_block(p) : NULL;
	if (block && is_at(p, TOK_ELSE))
		return (void)reject_loop_else(p), NULL;
	return block ? node_of(p, NODE_FOR, start, 3, target, iterable, block) : NULL;
}

static struct node *parse_while(struct parser *p)
{
	uint32_t start = p->token.start;
	struct node *test = advance(p) < 0 ? NULL : parse_test(p);
	struct node *block = test ? parse_block(p) : NULL;
	if (block && is_at(p, TOK_ELSE))
		return (void)reject_loop_else(p), NULL;
	return block ? node_of(p, NODE_WHILE, start, 2, test, block) : NULL;
}

static struct node *parse_def(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	struct node *name = advance(p) < 0 ? NULL : node_name(p);
	if (!name || kids_add(p, &kids, name) < 0 || expect(p, TOK_LPAREN, "'('") < 0 ||
		parse_params(p, &kids, TOK_RPAREN, true) < 0 || expect(p, TOK_RPAREN, "')'") < 0)
		return NULL;
	uint32_t n_params = kids.n - 1;
	if (is_at(p, TOK_ARROW) && p->dialect.annotations && (advance(p) < 0 || !parse_test(p)))
		return NULL;
	p->n_functions++;
	struct node *block = parse_block(p);
	p->n_functions--;
	if (!block || kids_add(p, &kids, block) < 0)
		return NULL;
	struct node *def = node_new(p, NODE_DEF, start, &kids);
	if (def)
		def->n_params = n_params;
	return def;
}

static struct node *parse_binding(struct parser *p)
{
	struct token t = p->token;
	struct node *name = NULL;
	if (is_at(p, TOK_NAME)) {
		name = node_name(p);
		if (!name || expect(p, TOK_ASSIGN, "'='") < 0)
			return NULL;
		t = p->token;
	}
	if (expect(p, TOK_STRING, "a string: the name to load") < 0)
		return NULL;
	if (!name && (name = node_new(p, NODE_NAME, t.start, NULL)))
		name->value = t.value;
	struct node *binding = name ? node_of(p, NODE_BINDING, t.start, 1, name) : NULL;
	if (binding)
		binding->value = t.value;
	return binding;
}

static struct node *parse_load(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	if (advance(p) < 0 || expect(p, TOK_LPAREN, "'('") < 0)
		return NULL;
	struct token t = p->token;
	struct node *module = expect(p, TOK_STRING, "a string: the module") < 0
		? NULL
		: node_new(p, NODE_CONST, t.start, NULL);
	if (!module || kids_add(p, &kids, module) < 0)
		return NULL;
	module->value = t.value;
	while (is_at(p, TOK_COMMA)) {
		if (advance(p) < 0)
			return NULL;
		if (is_at(p, TOK_RPAREN))
			break;
		struct node *binding = parse_binding(p);
		if (!binding || kids_add(p, &kids, binding) < 0)
			return NULL;
	}
	if (expect(p, TOK_RPAREN, "')'") < 0)
		return NULL;
	struct node *load = node_new(p, NODE_LOAD, start, &kids);
	if (load && kids.n == 1)
		return (void)fail_at(p, P_ARGUMENT, load,
			       "load statement must import at least 1 symbol", ""),
		       NULL;
	return load;
}

/* Parse `import a.b` or `from a import b`. Nothing is imported: the resolver only checks that the
 * name exists. */
static struct node *parse_import(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	bool is_from = is_at(p, TOK_FROM);
	struct node *module = advance(p) < 0 ? NULL : node_name(p);
	while (module && is_at(p, TOK_DOT))
		if (advance(p) < 0 || !node_name(p))
			return NULL;
	if (!module || (is_from && expect(p, TOK_IMPORT, "'import'") < 0))
		return NULL;
	if (is_from && is_at(p, TOK_STAR))
		return (void)fail_token(
			       p, P_PYTHON, "import * is not in the language", "name what you use"),
		       NULL;
	for (;;) {
		struct node *name = is_from ? node_name(p) : module;
		if (!name || kids_add(p, &kids, name) < 0)
			return NULL;
		if (is_at(p, TOK_AS))
			return (void)fail_token(p, P_PYTHON, "import … as is not in the language",
				       "use the name that is there, or assign it: y = x"),
			       NULL;
		if (!is_at(p, TOK_COMMA))
			break;
		if (advance(p) < 0 || (!is_from && !(module = node_name(p))))
			return NULL;
	}
	return node_new(p, NODE_IMPORT, start, &kids);
}

static struct node *parse_return(struct parser *p)
{
	uint32_t start = p->token.start;
	struct node *value = NULL;
	if (p->n_functions == 0)
		return (void)fail_token(p, P_EXPECTED, "return statement not within a function",
			       "at the top, end the file with the value instead"),
		       NULL;
	if (advance(p) < 0)
		return NULL;
	if (!is_at(p, TOK_NEWLINE) && !is_at(p, TOK_SEMI) && !is_at(p, TOK_EOF) &&
		!(value = parse_exprs(p)))
		return NULL;
	return node_of(p, NODE_RETURN, start, 1, value);
}

static enum token_kind augmented(enum token_kind kind)
{
	static const enum token_kind pairs[][2] = {{TOK_PLUS_EQ, TOK_PLUS},
		{TOK_MINUS_EQ, TOK_MINUS}, {TOK_STAR_EQ, TOK_STAR}, {TOK_SLASH_EQ, TOK_SLASH},
		{TOK_SLASHSLASH_EQ, TOK_SLASHSLASH}, {TOK_PERCENT_EQ, TOK_PERCENT},
		{TOK_AMP_EQ, TOK_AMP}, {TOK_PIPE_EQ, TOK_PIPE}, {TOK_CARET_EQ, TOK_CARET},
		{TOK_SHL_EQ, TOK_SHL}, {TOK_SHR_EQ, TOK_SHR}, {TOK_STARSTAR_EQ, TOK_STARSTAR}};
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (pairs[i][0] == kind)
			return pairs[i][1];
	return TOK_EOF;
}

static struct node *parse_assignment(struct parser *p, struct node *target, enum token_kind op)
{
	uint32_t at = p->token.start;
	if (check_target(p, target, op != TOK_EOF) < 0 || advance(p) < 0)
		return NULL;
	struct node *value = parse_exprs(p);
	if (value && is_at(p, TOK_ASSIGN))
		return (void)fail_token(p, P_PYTHON, "a chained assignment is not in the language",
			       "write one assignment after the other: b = c, then a = b"),
		       NULL;
	struct node *node = value ? node_of(p, op == TOK_EOF ? NODE_ASSIGN : NODE_AUGMENTED,
					    target->start, 2, target, value)
				  : NULL;
	if (node) {
		node->op = (uint8_t)op;
		node->at = at;
	}
	return node;
}

/* Parse an expression, an assignment, or `x: T = value`. The type T is ignored. */
static struct node *parse_expr_statement(struct parser *p)
{
	struct node *left = parse_exprs(p);
	if (!left)
		return NULL;
	if (is_at(p, TOK_COLON) && p->dialect.annotations && left->kind == NODE_NAME) {
		if (advance(p) < 0 || !parse_test(p))
			return NULL;
		if (!is_at(p, TOK_ASSIGN))
			return node_new(p, NODE_PASS, left->start, NULL);
	}
	if (is_at(p, TOK_ASSIGN))
		return parse_assignment(p, left, TOK_EOF);
	enum token_kind op = augmented(p->token.kind);
	if (op == TOK_STARSTAR && !p->dialect.power)
		return (void)unexpected(p, NULL), NULL;
	if (op != TOK_EOF)
		return parse_assignment(p, left, op);
	return node_of(p, NODE_EXPR, left->start, 1, left);
}

static struct node *parse_small(struct parser *p)
{
	uint32_t start = p->token.start;
	switch ((int)p->token.kind) {
	case TOK_RETURN:
		return parse_return(p);
	case TOK_BREAK:
		return advance(p) < 0 ? NULL : node_new(p, NODE_BREAK, start, NULL);
	case TOK_CONTINUE:
		return advance(p) < 0 ? NULL : node_new(p, NODE_CONTINUE, start, NULL);
	case TOK_PASS:
		return advance(p) < 0 ? NULL : node_new(p, NODE_PASS, start, NULL);
	case TOK_LOAD:
		return parse_load(p);
	case TOK_IMPORT:
	case TOK_FROM:
		return p->dialect.imports ? parse_import(p) : ((void)python_construct(p), NULL);
	default:
		return parse_expr_statement(p);
	}
}

static int parse_simple(struct parser *p, struct kids *out)
{
	for (;;) {
		struct node *node = parse_small(p);
		if (!node || kids_add(p, out, node) < 0)
			return -1;
		if (!is_at(p, TOK_SEMI))
			break;
		if (advance(p) < 0)
			return -1;
		if (is_at(p, TOK_NEWLINE) || is_at(p, TOK_EOF))
			break;
	}
	return is_at(p, TOK_EOF) ? 0 : expect(p, TOK_NEWLINE, "newline");
}

static int parse_statement(struct parser *p, struct kids *out)
{
	struct node *node;
	switch ((int)p->token.kind) {
	case TOK_IF:
		node = parse_if(p);
		break;
	case TOK_FOR:
		node = parse_for(p);
		break;
	case TOK_DEF:
		node = parse_def(p);
		break;
	case TOK_WHILE:
		if (p->dialect.while_loops) {
			node = parse_while(p);
			break;
		}
		return python_construct(p);
	case TOK_INDENT:
		return fail_token(
			p, P_INDENT, "unexpected indentation", "align it with the line before");
	default:
		return parse_simple(p, out);
	}
	return node ? kids_add(p, out, node) : -1;
}

/* Return whether the newline at @at is followed by a line at the left margin that may begin a new
 * statement. */
static bool is_new_start(const struct parser *p, uint32_t at)
{
	static const char *const parts[] = {"else", "elif", "except", "finally"};
	const char *text = p->src->text + at + 1;
	size_t left = p->lex.end - at - 1;
	if (p->src->text[at] != '\n' || left == 0 || strchr(" \t\r\n#)]}", *text))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (left >= strlen(parts[i]) && memcmp(text, parts[i], strlen(parts[i])) == 0)
			return false;
	return true;
}

/* Continue after a mistake with the next statement at the left margin, because it is most likely
 * independent of the mistake. Returns: 0; -1 at the end of the source. */
static int recover(struct parser *p)
{
	uint32_t at = MAX(p->lex.at, 1u) - 1;
	while (at < p->lex.end && !is_new_start(p, at))
		at++;
	p->lex.at = MIN(at + 1, p->lex.end);
	p->lex.n_brackets = p->lex.n_outdents = 0;
	p->lex.n_indents = 1;
	p->lex.at_line_start = true;
	p->lex.has_line = false;
	p->depth = p->n_functions = 0;
	p->no_in = false;
	return p->lex.at < p->lex.end ? 0 : -1;
}

int tree_parse(struct heap *h, const struct source *src, const struct dialect *dialect,
	struct diags *diags, struct node **out)
{
	struct parser p = {.h = h, .src = src, .dialect = *dialect};
	struct kids kids = {0};
	size_t n_before = diags->n_all;
	if (lex_init(&p.lex, h, src, &p.dialect, diags) < 0)
		return -1;
	int r = advance(&p);
	while (r < 0 || !is_at(&p, TOK_EOF)) {
		if (r == 0)
			r = parse_statement(&p, &kids);
		if (r == 0)
			continue;
		if (h->kind != FAIL_NONE || diags->n_all > DIAG_MAX || recover(&p) < 0)
			break;
		r = advance(&p);
	}
	if (h->kind != FAIL_NONE || diags->n_all > n_before)
		return -1;
	p.last_end = (uint32_t)src->bytes;
	*out = node_new(&p, NODE_BLOCK, 0, &kids);
	return *out ? 0 : -1;
}
