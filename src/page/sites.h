/* sites.h - the places in the code that occur in the kept part of the tree, and their names, each once */
#ifndef HWI_PAGE_SITES_H
#define HWI_PAGE_SITES_H

#include "compare/identity.h"
#include "page/cut.h"
#include "page/packed.h"
#include "trace/numbering.h"
#include "trace/store.h"

/* Kinds of sites. */
enum { HWI_SITE_CODE = 0, HWI_SITE_LEFT_OUT = 1 };

/* A function at a site; inlined functions come first. Strings are numbered from 1; 0: none. All members are uint64_t,
 * here and below, since they are columns of a table. */
struct hwi_page_frame {
  uint64_t function, file, line, reason;
  uint64_t identity; /* shared by equal frames of two runs; 0: there is one run */
};

/* How frames are matched with another run's. `identities` is NULL if there is no other run. */
struct hwi_page_matching {
  struct hwi_identities *identities;
  int side;
};

struct hwi_page_site {
  uint64_t address;        /* in the module's file; for LEFT_OUT the number of frames left out */
  uint64_t function_start; /* plus 1; 0: unknown */
  uint64_t module;         /* from 1; 0: none */
  uint64_t kind;
  uint64_t frame; /* index of its first frame */
};

struct hwi_page_sites {
  const struct hwi_named_frames *names;
  const struct hwi_page_matching *matching;
  struct hwi_store strings;
  struct hwi_numbering pointers; /* numbers of texts that the symbolizer owns, by their pointers */
  uint32_t *string_of;           /* by the pointer's number: the string */
  size_t string_of_capacity;
  struct hwi_numbering keys; /* by module and address */
  struct hwi_page_site *sites;
  size_t site_count, site_capacity;
  struct hwi_page_frame *frames;
  size_t frame_count, frame_capacity;
  uint32_t *site_of; /* by node */
  bool failed;       /* there was no memory for a string or an identity */
};

/* Finds the sites of the cut's nodes and their names. Release `sites` even after a failure. */
int hwi_page_sites_init(struct hwi_page_sites *sites, const struct hwi_page_cut *cut,
                        const struct hwi_named_frames *names, const struct hwi_page_matching *matching,
                        struct hwi_error *error);
void hwi_page_sites_release(struct hwi_page_sites *sites);

/* Writes "modules", "frames", "sites" and "nodes" into the current object. */
void hwi_json_page_sites(struct hwi_json *json, struct hwi_page_sites *sites, const struct hwi_page_cut *cut);

/* Writes "strings"; call it after all members that refer to strings. They take at most STRINGS_BYTES_MAX; if needed,
 * the longest ones are shortened in the middle. */
void hwi_json_page_strings(struct hwi_json *json, const struct hwi_page_sites *sites);

#endif
