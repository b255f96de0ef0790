/* Parse expressions. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/inside.h"

#include "plan/value/str.h"

#include <string.h>

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_PIPE, LEVEL_SUM = 9 };

/* Return the precedence of the next token as a binary operator; 0 if it is not a binary
 * operator. */
static int level_of(const struct parser *p)
{
	switch ((int)p->token.kind) {
	case TOK_OR:
		return LEVEL_OR;
	case TOK_AND:
		return LEVEL_AND;
	case TOK_IN:
		return p->no_in ? 0 : LEVEL_COMPARE;
	case TOK_IS:
		return p->dialect.is_operator ? LEVEL_COMPARE : 0;
	case TOK_NOT:
	case TOK_EQ:
	case TOK_NE:
	case TOK_LT:
	case TOK_LE:
	case TOK_GT:
	case TOK_GE:
		return LEVEL_COMPARE;
	case TOK_PIPE:
		return LEVEL_PIPE;
	case TOK_CARET:
		return LEVEL_PIPE + 1;
	case TOK_AMP:
		return LEVEL_PIPE + 2;
	case TOK_SHL:
	case TOK_SHR:
		return LEVEL_PIPE + 3;
	case TOK_PLUS:
	case TOK_MINUS:
		return LEVEL_SUM;
	case TOK_STAR:
	case TOK_SLASH:
	case TOK_SLASHSLASH:
	case TOK_PERCENT:
		return LEVEL_SUM + 1;
	default:
		return 0;
	}
}

static struct node *parse_group(struct parser *p)
{
	uint32_t start = p->token.start;
	bool no_in = p->no_in, no_if = p->no_if;
	p->no_in = p->no_if = false;
	if (advance(p) < 0)
		return NULL;
	if (is_at(p, TOK_RPAREN)) {
		p->no_in = no_in;
		p->no_if = no_if;
		if (advance(p) < 0)
			return NULL;
		struct node *empty = node_new(p, NODE_TUPLE, start, NULL);
		if (empty)
			empty->in_parens = true;
		return empty;
	}
	struct node *node = parse_exprs(p);
	/* A tuple in parentheses may end in a comma. */
	if (node && is_at(p, TOK_COMMA)) {
		if (advance(p) < 0)
			return NULL;
		if (node->kind != NODE_TUPLE || node->in_parens)
			node = node_of(p, NODE_TUPLE, node->start, 1, node);
	}
	if (node && is_at(p, TOK_FOR))
		return (void)fail_token(p, P_GENERATOR, "generators are not in the language",
			       "use a list comprehension: [x for x in y]"),
		       NULL;
	p->no_in = no_in;
	p->no_if = no_if;
	if (!node || expect(p, TOK_RPAREN, "')'") < 0)
		return NULL;
	node->in_parens = true;
	node->start = start;
	node->end = p->last_end;
	return node;
}

/* Parse a literal. Python joins adjacent string literals, Starlark forbids them. */
static struct node *parse_literal(struct parser *p)
{
	struct token t = p->token;
	if (advance(p) < 0)
		return NULL;
	struct node *node = node_new(p, NODE_CONST, t.start, NULL);
	if (!node)
		return NULL;
	node->value = t.value;
	while (p->dialect.python_layout && is_at(p, t.kind) &&
		(t.kind == TOK_STRING || t.kind == TOK_BYTES)) {
		if (str_concat(p->h, node->value, p->token.value, &node->value) < 0 ||
			advance(p) < 0)
			return NULL;
		node->end = p->last_end;
	}
	if (p->dialect.python_layout && t.kind == TOK_STRING && is_at(p, TOK_FSTRING)) {
		struct node *rest = parse_f_string(p);
		struct kids kids = {0};
		if (!rest || kids_add(p, &kids, node) < 0)
			return NULL;
		for (uint32_t i = 0; i < rest->n; i++)
			if (kids_add(p, &kids, rest->kid[i]) < 0)
				return NULL;
		return node_new(p, NODE_F_STRING, t.start, &kids);
	}
	return node;
}

static struct node *parse_operand(struct parser *p)
{
	switch ((int)p->token.kind) {
	case TOK_NAME:
		return node_name(p);
	case TOK_INT:
	case TOK_FLOAT:
	case TOK_STRING:
	case TOK_BYTES:
		return parse_literal(p);
	case TOK_FSTRING:
		return parse_f_string(p);
	case TOK_LPAREN:
		return parse_group(p);
	case TOK_LBRACK:
	case TOK_LBRACE:
		return parse_display(p);
	default:
		return (void)unexpected(p, "primary expression"), NULL;
	}
}

/* Parse an index or a slice from "[" on. Each part of a slice may be missing. */
static struct node *parse_subscript(struct parser *p, struct node *x)
{
	struct node *part[3] = {NULL, NULL, NULL};
	bool is_slice = false, no_in = p->no_in, no_if = p->no_if;
	uint32_t at = p->token.start;
	p->no_in = p->no_if = false;
	if (advance(p) < 0)
		return NULL;
	if (!is_at(p, TOK_COLON) && !(part[0] = parse_exprs(p)))
		return NULL;
	if (part[0] && is_at(p, TOK_COLON) && p->src->text[p->last_end - 1] == ',')
		return (void)unexpected(p, "primary expression"), NULL;
	for (int i = 1; i < 3 && is_at(p, TOK_COLON); i++) {
		is_slice = true;
		if (advance(p) < 0)
			return NULL;
		if (!is_at(p, TOK_COLON) && !is_at(p, TOK_RBRACK) && !(part[i] = parse_test(p)))
			return NULL;
	}
	p->no_in = no_in;
	p->no_if = no_if;
	if (expect(p, TOK_RBRACK, "']'") < 0)
		return NULL;
	struct node *node = is_slice
		? node_of(p, NODE_SLICE, x->start, 4, x, part[0], part[1], part[2])
		: node_of(p, NODE_INDEX, x->start, 2, x, part[0]);
	if (node)
		node->at = at;
	return node;
}

static struct node *parse_suffix(struct parser *p, struct node *x)
{
	struct kids kids = {0};
	struct node *node = NULL;
	uint32_t at = p->token.start;
	bool no_in = p->no_in, no_if = p->no_if;
	if (is_at(p, TOK_LBRACK))
		return parse_subscript(p, x);
	if (is_at(p, TOK_DOT)) {
		if (advance(p) < 0)
			return NULL;
		struct token name = p->token;
		if (expect(p, TOK_NAME, "an identifier") < 0)
			return NULL;
		node = node_of(p, NODE_DOT, x->start, 1, x);
		if (node)
			node->value = name.value;
	} else {
		p->no_in = p->no_if = false;
		if (kids_add(p, &kids, x) < 0 || advance(p) < 0 || parse_arguments(p, &kids) < 0 ||
			expect(p, TOK_RPAREN, "')'") < 0)
			return NULL;
		p->no_in = no_in;
		p->no_if = no_if;
		node = node_new(p, NODE_CALL, x->start, &kids);
	}
	if (node)
		node->at = at;
	return node;
}

static struct node *parse_primary(struct parser *p)
{
	struct node *x = parse_operand(p);
	while (x && (is_at(p, TOK_DOT) || is_at(p, TOK_LPAREN) || is_at(p, TOK_LBRACK)))
		x = parse_suffix(p, x);
	return x;
}

static struct node *parse_unary(struct parser *p);

static struct node *parse_power(struct parser *p)
{
	struct node *x = parse_primary(p);
	uint32_t at = p->token.start;
	if (!x || !is_at(p, TOK_STARSTAR) || !p->dialect.power)
		return x;
	struct node *y = advance(p) < 0 ? NULL : parse_unary(p);
	struct node *node = y ? node_of(p, NODE_BINARY, x->start, 2, x, y) : NULL;
	if (node) {
		node->op = TOK_STARSTAR;
		node->at = at;
	}
	return node;
}

static struct node *parse_unary(struct parser *p)
{
	struct token t = p->token;
	if (t.kind != TOK_MINUS && t.kind != TOK_PLUS && t.kind != TOK_TILDE)
		return parse_power(p);
	if (deeper(p) < 0)
		return NULL;
	struct node *x = advance(p) < 0 ? NULL : parse_unary(p);
	p->depth--;
	struct node *node = x ? node_of(p, NODE_UNARY, t.start, 1, x) : NULL;
	if (node)
		node->op = (uint8_t)t.kind;
	return node;
}

/* Read a comparison operator, such as `<` or `not in`. Returns: enum compare; -1 on failure. */
static int parse_compare(struct parser *p)
{
	enum token_kind kind = p->token.kind;
	if (advance(p) < 0)
		return -1;
	switch ((int)kind) {
	case TOK_EQ:
		return CMP_EQ;
	case TOK_NE:
		return CMP_NE;
	case TOK_LT:
		return CMP_LT;
	case TOK_LE:
		return CMP_LE;
	case TOK_GT:
		return CMP_GT;
	case TOK_GE:
		return CMP_GE;
	case TOK_IN:
		return CMP_IN;
	case TOK_NOT:
		return expect(p, TOK_IN, "'in'") < 0 ? -1 : CMP_NOT_IN;
	default:
		break;
	}
	if (!is_at(p, TOK_NOT))
		return CMP_IS;
	return advance(p) < 0 ? -1 : CMP_IS_NOT;
}

/* Check that `is` is used only with None, True and False, for which identity equals equality. */
static int check_is(struct parser *p, int op, const struct node *right)
{
	bool is_name = right->kind == NODE_NAME &&
		(str_is(right->value, "None") || str_is(right->value, "True") ||
			str_is(right->value, "False"));
	if ((op != CMP_IS && op != CMP_IS_NOT) || is_name)
		return 0;
	return fail_at(p, P_IS, right, "is compares with None, True or False only", "use == or !=");
}

static struct node *parse_chain(struct parser *p, struct node *left, int op, struct node *right)
{
	struct kids kids = {0};
	uint8_t ops[64];
	uint32_t n = 0;
	if (!p->dialect.chained) {
		(void)fail_token(p, P_POWER,
			"comparison operators are not associative (use parens)",
			"write a < b and b < c");
		return NULL;
	}
	ops[n++] = (uint8_t)op;
	if (kids_add(p, &kids, left) < 0 || kids_add(p, &kids, right) < 0)
		return NULL;
	while (level_of(p) == LEVEL_COMPARE) {
		if (n == sizeof ops)
			return (void)fail_token(p, P_LIMIT, "a chain of more than 64 comparisons",
				       "use and"),
			       NULL;
		op = parse_compare(p);
		struct node *next = op < 0 ? NULL : parse_binary(p, LEVEL_COMPARE + 1);
		if (!next || check_is(p, op, next) < 0 || kids_add(p, &kids, next) < 0)
			return NULL;
		ops[n++] = (uint8_t)op;
	}
	struct node *node = node_new(p, NODE_CHAIN, left->start, &kids);
	if (node && (node->ops = heap_alloc(p->h, n)))
		memcpy(node->ops, ops, n);
	return node && node->ops ? node : NULL;
}

static struct node *parse_comparison(struct parser *p, struct node *left)
{
	uint32_t at = p->token.start;
	int op = parse_compare(p);
	struct node *right = op < 0 ? NULL : parse_binary(p, LEVEL_COMPARE + 1);
	if (!right || check_is(p, op, right) < 0)
		return NULL;
	if (level_of(p) == LEVEL_COMPARE)
		return parse_chain(p, left, op, right);
	struct node *node = node_of(p, NODE_COMPARE, left->start, 2, left, right);
	if (node) {
		node->op = (uint8_t)op;
		node->at = at;
	}
	return node;
}

static struct node *parse_operator(struct parser *p, struct node *left, int level)
{
	struct token t = p->token;
	if (level == LEVEL_COMPARE)
		return parse_comparison(p, left);
	struct node *right = advance(p) < 0 ? NULL : parse_binary(p, level + 1);
	if (!right)
		return NULL;
	enum node_kind kind = level == LEVEL_OR ? NODE_OR
		: level == LEVEL_AND		? NODE_AND
						: NODE_BINARY;
	struct node *node = node_of(p, kind, left->start, 2, left, right);
	if (node) {
		node->op = (uint8_t)t.kind;
		node->at = t.start;
	}
	return node;
}

struct node *parse_binary(struct parser *p, int least)
{
	struct node *left;
	if (deeper(p) < 0)
		return NULL;
	if (is_at(p, TOK_NOT) && least <= LEVEL_NOT) {
		uint32_t start = p->token.start;
		left = advance(p) < 0 ? NULL : parse_binary(p, LEVEL_NOT);
		left = left ? node_of(p, NODE_NOT, start, 1, left) : NULL;
	} else {
		left = parse_unary(p);
	}
	int level;
	while (left && (level = level_of(p)) != 0 && level >= least)
		left = parse_operator(p, left, level);
	p->depth--;
	return left;
}

static struct node *parse_lambda(struct parser *p)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	bool no_in = p->no_in, no_if = p->no_if;
	p->no_in = p->no_if = false;
	if (advance(p) < 0 || parse_params(p, &kids, TOK_COLON, false) < 0 ||
		expect(p, TOK_COLON, "':'") < 0)
		return NULL;
	p->no_in = no_in;
	uint32_t n_params = kids.n;
	struct node *body = deeper(p) < 0 ? NULL
		: no_if			  ? parse_binary(p, LEVEL_OR)
					  : parse_test(p);
	p->depth--;
	if (!body || kids_add(p, &kids, body) < 0)
		return NULL;
	struct node *node = node_new(p, NODE_LAMBDA, start, &kids);
	if (node)
		node->n_params = n_params;
	return node;
}

struct node *parse_test(struct parser *p)
{
	if (is_at(p, TOK_LAMBDA))
		return parse_lambda(p);
	struct node *value = parse_binary(p, LEVEL_OR);
	if (!value || !is_at(p, TOK_IF))
		return value;
	if (advance(p) < 0 || deeper(p) < 0)
		return NULL;
	struct node *test = parse_binary(p, LEVEL_OR), *otherwise = NULL;
	if (test && !is_at(p, TOK_ELSE))
		return (void)fail_token(p, P_EXPECTED, "conditional expression without else clause",
			       "write: value if condition else other"),
		       NULL;
	if (test && advance(p) == 0)
		otherwise = parse_test(p);
	p->depth--;
	return otherwise ? node_of(p, NODE_IF_ELSE, value->start, 3, test, value, otherwise) : NULL;
}

/* Return whether the next token, which follows a comma, ends a list of expressions. */
static bool is_end(const struct parser *p)
{
	switch ((int)p->token.kind) {
	case TOK_RPAREN:
	case TOK_RBRACK:
	case TOK_RBRACE:
	case TOK_ASSIGN:
	case TOK_COLON:
	case TOK_NEWLINE:
	case TOK_SEMI:
	case TOK_IN:
	case TOK_EOF:
		return true;
	default:
		return false;
	}
}

static struct node *parse_item(struct parser *p, bool is_target)
{
	uint32_t start = p->token.start;
	if (!is_at(p, TOK_STAR) || !p->dialect.star_targets)
		return is_target ? parse_primary(p) : parse_test(p);
	struct node *x = advance(p) < 0 ? NULL : parse_binary(p, LEVEL_PIPE);
	return x ? node_of(p, NODE_STARRED, start, 1, x) : NULL;
}

static struct node *parse_list(struct parser *p, bool is_target)
{
	struct kids kids = {0};
	uint32_t start = p->token.start;
	struct node *first = parse_item(p, is_target);
	if (!first)
		return NULL;
	if (!is_at(p, TOK_COMMA))
		return first->kind != NODE_STARRED
			? first
			: ((void)fail_at(p, P_EXPECTED, first, "a starred expression stands alone",
				   "add a comma: *x,"),
				  NULL);
	if (kids_add(p, &kids, first) < 0)
		return NULL;
	while (is_at(p, TOK_COMMA)) {
		/* Only Python allows a trailing comma after a tuple without brackets. */
		bool is_open = p->lex.n_brackets > 0 || p->dialect.python_layout || is_target;
		if (advance(p) < 0)
			return NULL;
		if (is_end(p)) {
			if (!is_open)
				return (void)fail_token(p, P_EXPECTED,
					       "unparenthesized tuple with trailing comma",
					       "put the tuple in brackets"),
				       NULL;
			break;
		}
		struct node *next = parse_item(p, is_target);
		if (!next || kids_add(p, &kids, next) < 0)
			return NULL;
	}
	return node_new(p, NODE_TUPLE, start, &kids);
}

struct node *parse_exprs(struct parser *p)
{
	return parse_list(p, false);
}

/* Parse loop variables up to the keyword `in`. */
struct node *parse_targets(struct parser *p)
{
	bool no_in = p->no_in;
	p->no_in = true;
	struct node *node = parse_list(p, true);
	p->no_in = no_in;
	return node;
}
