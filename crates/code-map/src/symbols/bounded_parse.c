// Parses a text with tree-sitter within a memory budget.
//
// tree-sitter cannot be stopped while it recovers from errors, and aborts the process when an allocation fails. So each
// parse gets a region of its own: everything that tree-sitter allocates during the parse is in the region, an allocation
// beyond the budget leaves the parse by longjmp, and the region is released as a whole, whether the parse finished or
// not. longjmp passes frames of C only: `current` is set only while this file calls tree-sitter, and is cleared while a
// callback of Rust runs.
//
// External scanners of grammars allocate with malloc, which the region does not see. So the parse uses a copy of the
// language whose scanner this file creates and destroys itself: that of a stopped parse, too.
//
// Outside of a parse (queries and their cursors) the same functions allocate with malloc.

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

// tree-sitter's own: the layout of TSLanguage.
#include "parser.h"

#if TREE_SITTER_LANGUAGE_VERSION != 15
#error "see how much of a language of the new version copy_language has to copy"
#endif

#ifdef _MSC_VER
#define THREAD_LOCAL __declspec(thread)
#define NO_RETURN __declspec(noreturn)
#else
#define THREAD_LOCAL _Thread_local
#define NO_RETURN _Noreturn
#endif

// Sizes of blocks are multiples of this, headers included.
#define GRAIN ((size_t)16)
#define SMALLEST_BLOCK ((size_t)32)
// Larger blocks are allocated one by one, smaller ones are cut from chunks.
#define LARGEST_POOLED ((size_t)4096)
#define FIRST_CHUNK ((size_t)32 << 10)
#define LARGEST_CHUNK ((size_t)1 << 20)
// tree-sitter releases its parse stacks by recursion, as deep as the text is long. Threads have 2 MiB of stack.
#define DEEPEST_STACK ((size_t)1 << 20)

typedef struct Region Region;

// In front of every block.
typedef struct {
  Region *region; // NULL outside of a parse
  size_t size;    // with this header
} Header;

typedef struct Large {
  struct Large *previous, *next;
  Header header;
} Large;

typedef struct Chunk {
  struct Chunk *next;
  size_t size;
} Chunk;

// Keep in step with bounded_parse.rs.
typedef enum { FINISHED, OVER_BUDGET, OVER_TOTAL, OUT_OF_MEMORY } Outcome;

typedef struct {
  const TSLanguage *language;
  const char *text;
  uint32_t length;
  size_t budget;                                 // bytes
  bool (*take)(size_t bytes);                    // takes bytes from what all parses share; NULL when they are reserved
  bool (*go_on)(void *payload, uint32_t offset); // asked now and then
  void *payload;
} Request;

struct Region {
  Request request;
  size_t used;  // bytes allocated now
  size_t taken; // bytes taken from what all parses share
  Chunk *chunks;
  char *next, *end; // the unused rest of the latest chunk
  size_t next_chunk;
  Large *large;
  Header *unused[LARGEST_POOLED / GRAIN + 1]; // released blocks by their size
  TSLanguage language; // that of the request, but it creates its scanner with create_scanner
  void *scanner;       // of the language, while the parse runs
  TSTree *tree;
  uintptr_t stack; // an address on the C stack where the parse began
  Outcome outcome;
  jmp_buf stop;
};

// The region of the parse that runs on this thread, while tree-sitter's code runs.
static THREAD_LOCAL Region *current;

NO_RETURN static void stop(Region *region, Outcome outcome) {
  region->outcome = outcome;
  current = NULL;
  longjmp(region->stop, 1);
}

// Stops a parse that needs too much of the C stack. It grows towards lower addresses.
static void check_stack(Region *region) {
  char here;
  uintptr_t stack = (uintptr_t)&here;
  if (stack < region->stack && region->stack - stack > DEEPEST_STACK) stop(region, OVER_BUDGET);
}

// Counts bytes before they are allocated.
static void charge(Region *region, size_t bytes) {
  if (bytes > region->request.budget - region->used) stop(region, OVER_BUDGET);
  size_t used = region->used + bytes;
  if (used > region->taken) {
    if (region->request.take) {
      current = NULL;
      bool taken = region->request.take(used - region->taken);
      current = region;
      if (!taken) stop(region, OVER_TOTAL);
    }
    region->taken = used;
  }
  region->used = used;
}

static Header *header_of(void *block) { return (Header *)block - 1; }

static Large *large_of(Header *header) { return (Large *)((char *)header - offsetof(Large, header)); }

// The released block that follows in the list.
static Header **link_of(Header *header) { return (Header **)(header + 1); }

static size_t whole_size(Region *region, size_t size) {
  // No block is larger than the budget, and the sum below cannot overflow.
  if (size > region->request.budget) stop(region, OVER_BUDGET);
  size_t whole = (size + sizeof(Header) + GRAIN - 1) & ~(GRAIN - 1);
  return whole < SMALLEST_BLOCK ? SMALLEST_BLOCK : whole;
}

static void add_chunk(Region *region) {
  size_t size = region->next_chunk;
  charge(region, size);
  Chunk *chunk = malloc(size);
  if (!chunk) stop(region, OUT_OF_MEMORY);
  chunk->next = region->chunks;
  chunk->size = size;
  region->chunks = chunk;
  region->next = (char *)(chunk + 1);
  region->end = (char *)chunk + size;
  if (size < LARGEST_CHUNK) region->next_chunk = size * 2;
}

static void insert_large(Region *region, Large *large) {
  large->previous = NULL;
  large->next = region->large;
  if (large->next) large->next->previous = large;
  region->large = large;
}

static void remove_large(Region *region, Large *large) {
  if (large->previous) {
    large->previous->next = large->next;
  } else {
    region->large = large->next;
  }
  if (large->next) large->next->previous = large->previous;
}

static void *allocate_large(Region *region, size_t whole) {
  charge(region, whole);
  Large *large = malloc(offsetof(Large, header) + whole);
  if (!large) stop(region, OUT_OF_MEMORY);
  insert_large(region, large);
  large->header.region = region;
  large->header.size = whole;
  return &large->header + 1;
}

static void *allocate(Region *region, size_t size) {
  check_stack(region);
  size_t whole = whole_size(region, size);
  if (whole > LARGEST_POOLED) return allocate_large(region, whole);
  Header *header = region->unused[whole / GRAIN];
  if (header) {
    region->unused[whole / GRAIN] = *link_of(header);
    return header + 1;
  }
  if ((size_t)(region->end - region->next) < whole) add_chunk(region);
  header = (Header *)region->next;
  region->next += whole;
  header->region = region;
  header->size = whole;
  return header + 1;
}

static void release(Header *header) {
  Region *region = header->region;
  if (header->size > LARGEST_POOLED) {
    Large *large = large_of(header);
    region->used -= header->size;
    remove_large(region, large);
    free(large);
  } else {
    *link_of(header) = region->unused[header->size / GRAIN];
    region->unused[header->size / GRAIN] = header;
  }
}

static void *grow_large(Region *region, Header *header, size_t whole) {
  charge(region, whole - header->size);
  Large *large = large_of(header);
  remove_large(region, large);
  Large *moved = realloc(large, offsetof(Large, header) + whole);
  insert_large(region, moved ? moved : large);
  if (!moved) stop(region, OUT_OF_MEMORY);
  moved->header.size = whole;
  return &moved->header + 1;
}

// What tree-sitter does by default: nothing can be stopped outside of a parse.
NO_RETURN static void fail(size_t size) {
  fprintf(stderr, "tree-sitter failed to allocate %zu bytes", size);
  abort();
}

static size_t with_header(size_t size) {
  if (size > SIZE_MAX - sizeof(Header)) fail(size);
  return size + sizeof(Header);
}

void *agent_context_malloc(size_t size) {
  if (current) return allocate(current, size);
  Header *header = malloc(with_header(size));
  if (!header) fail(size);
  header->region = NULL;
  return header + 1;
}

void *agent_context_calloc(size_t count, size_t size) {
  size_t bytes = size && count > SIZE_MAX / size ? SIZE_MAX : count * size;
  return memset(agent_context_malloc(bytes), 0, bytes);
}

void agent_context_free(void *block) {
  if (!block) return;
  Header *header = header_of(block);
  if (header->region) {
    if (current) check_stack(current);
    release(header);
  } else {
    free(header);
  }
}

void *agent_context_realloc(void *block, size_t size) {
  if (!block) return agent_context_malloc(size);
  Header *header = header_of(block);
  Region *region = header->region;
  if (!region) {
    header = realloc(header, with_header(size));
    if (!header) fail(size);
    return header + 1;
  }
  size_t capacity = header->size - sizeof(Header);
  if (size <= capacity) return block;
  if (region == current && header->size > LARGEST_POOLED) {
    return grow_large(region, header, whole_size(region, size));
  }
  void *moved = agent_context_malloc(size);
  memcpy(moved, block, capacity);
  release(header);
  return moved;
}

static const char *read_text(void *payload, uint32_t offset, TSPoint position, uint32_t *length) {
  const Request *request = payload;
  (void)position;
  *length = offset < request->length ? request->length - offset : 0;
  return *length ? request->text + offset : "";
}

static bool is_to_stop(TSParseState *state) {
  Region *region = state->payload;
  current = NULL;
  bool goes_on = region->request.go_on(region->request.payload, state->current_byte_offset);
  current = region;
  return !goes_on;
}

// The parser creates one scanner a parse.
static void *create_scanner(void) {
  Region *region = current;
  region->scanner = region->request.language->external_scanner.create();
  return region->scanner;
}

// No scanner is left in the middle of its work: scanners call nothing that allocates in the region.
static void destroy_scanner(Region *region) {
  if (region->scanner) region->request.language->external_scanner.destroy(region->scanner);
}

// tree-sitter aborts when a scanner's state is longer than its buffer. That of Python can be, by one byte, where blocks
// nest deeper than any program's.
static unsigned serialize_scanner(void *scanner, char *buffer) {
  Region *region = current;
  char state[2 * TREE_SITTER_SERIALIZATION_BUFFER_SIZE];
  unsigned length = region->request.language->external_scanner.serialize(scanner, state);
  if (length > TREE_SITTER_SERIALIZATION_BUFFER_SIZE) stop(region, OVER_BUDGET);
  memcpy(buffer, state, length);
  return length;
}

// Returns whether the language has a known version.
static bool copy_language(Region *region) {
  const TSLanguage *language = region->request.language;
  // Version 15 added the members from `name` on.
  switch (ts_language_abi_version(language)) {
    case 14: memcpy(&region->language, language, offsetof(TSLanguage, name)); break;
    case 15: region->language = *language; break;
    default: return false;
  }
  if (language->external_scanner.create) region->language.external_scanner.create = create_scanner;
  if (language->external_scanner.serialize) region->language.external_scanner.serialize = serialize_scanner;
  region->language.external_scanner.destroy = NULL;
  return true;
}

static void parse(Region *region) {
  Request *request = &region->request;
  TSParser *parser = ts_parser_new();
  if (copy_language(region) && ts_parser_set_language(parser, &region->language)) {
    TSInput input = {request, read_text, TSInputEncodingUTF8, NULL};
    TSParseOptions options = {region, is_to_stop};
    region->tree = ts_parser_parse_with_options(parser, NULL, input, options);
  }
  // The parser is released with the region.
}

// NULL when there is no memory for the region itself.
Region *agent_context_parse(const Request *request) {
  Region *region = calloc(1, sizeof(Region));
  if (!region) return NULL;
  region->request = *request;
  region->next_chunk = FIRST_CHUNK;
  region->stack = (uintptr_t)&request;
  if (setjmp(region->stop) == 0) {
    current = region;
    parse(region);
    current = NULL;
  }
  destroy_scanner(region);
  return region;
}

Outcome agent_context_parse_outcome(const Region *region) { return region->outcome; }

// NULL when the parse was stopped.
TSTree *agent_context_parse_tree(const Region *region) {
  return region->outcome == FINISHED ? region->tree : NULL;
}

// Releases the tree and everything else of the parse. Returns how many bytes it had taken.
size_t agent_context_parse_release(Region *region) {
  size_t taken = region->request.take ? region->taken : 0;
  for (Chunk *chunk = region->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  for (Large *large = region->large, *next; large; large = next) {
    next = large->next;
    free(large);
  }
  free(region);
  return taken;
}
