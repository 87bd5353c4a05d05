/* sites.h - the places in the code that the kept part of the tree is made of, and their names: each once */
#ifndef HWI_PAGE_SITES_H
#define HWI_PAGE_SITES_H

#include "compare/identity.h"
#include "export/keys.h"
#include "page/cut.h"
#include "page/packed.h"

/* What a site is. */
enum { HWI_SITE_CODE = 0, HWI_SITE_LEFT_OUT = 1 };

/* A function at a site; inlined ones first. Strings are numbered from 1; 0: none. uint64_t throughout, here and below, for they
 * are columns of a table. */
struct hwi_page_frame {
  uint64_t function, file, line, reason;
  uint64_t identity; /* that frames of two runs share where they are the same; 0: there is one run */
};

/* How frames are known in another run, too. `identities` is NULL where there is no other one. */
struct hwi_page_matching {
  struct hwi_identities *identities;
  int side;
};

struct hwi_page_site {
  uint64_t address;        /* in the module's file; how many frames were left out */
  uint64_t function_start; /* plus 1; 0: unknown */
  uint64_t module;         /* from 1; 0: none */
  uint64_t kind;
  uint64_t frame; /* the first of its frames */
};

struct hwi_page_sites {
  const struct hwi_named_frames *names;
  const struct hwi_page_matching *matching;
  struct hwi_strings strings;
  struct hwi_keys pointers; /* of texts that the symbolizer owns: their strings, by number */
  uint32_t *string_of;      /* by pointer's number */
  size_t string_of_capacity;
  struct hwi_keys keys; /* by module and address */
  struct hwi_page_site *sites;
  size_t site_count, site_capacity;
  struct hwi_page_frame *frames;
  size_t frame_count, frame_capacity;
  uint32_t *site_of; /* by node */
  bool failed;       /* there was no memory for a string or an identity */
};

/* Finds the sites of the cut's nodes, and names them. To be released, even after a failure. */
int hwi_page_sites_init(struct hwi_page_sites *sites, const struct hwi_page_cut *cut,
                        const struct hwi_named_frames *names, const struct hwi_page_matching *matching,
                        struct hwi_error *error);
void hwi_page_sites_release(struct hwi_page_sites *sites);

/* "modules", "frames", "sites" and "nodes" into the object begun last. */
void hwi_json_page_sites(struct hwi_json *json, struct hwi_page_sites *sites, const struct hwi_page_cut *cut);

/* "strings": after all that refer to them. They take STRINGS_BYTES_MAX at most, if need be by shortening the longest ones in
 * their middles. */
void hwi_json_page_strings(struct hwi_json *json, const struct hwi_page_sites *sites);

#endif
