// The functions of the toolchain's libIndexStore that CompilerFacts calls, and two of its libswiftDemangle. Both libraries are loaded when
// they are needed, because only a toolchain has them. The functions are declared here, not in Swift, because they return structures and
// take functions, which Swift's own `@convention(c)` types cannot spell.
#ifndef KOINE_INDEX_STORE_SHIM_H
#define KOINE_INDEX_STORE_SHIM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A text that the library owns. It is not terminated by a zero.
typedef struct {
  const char *data;
  size_t length;
} koine_index_string;

typedef bool (*koine_index_visit)(void *context, void *found);
typedef bool (*koine_index_visit_string)(void *context, koine_index_string found);

/// The functions of libIndexStore under their names there, without the prefix `indexstore_`.
typedef struct {
  const char *(*error_get_description)(void *error);
  void (*error_dispose)(void *error);
  unsigned (*format_version)(void);

  void *(*store_create)(const char *path, void **error);
  void (*store_dispose)(void *store);
  bool (*store_units_apply_f)(void *store, unsigned sorted, void *context, koine_index_visit_string);
  bool (*store_get_unit_modification_time)(void *store, const char *unit, int64_t *seconds, int64_t *nanoseconds, void **error);

  void *(*unit_reader_create)(void *store, const char *unit, void **error);
  void (*unit_reader_dispose)(void *unit);
  koine_index_string (*unit_reader_get_provider_identifier)(void *unit);
  koine_index_string (*unit_reader_get_provider_version)(void *unit);
  bool (*unit_reader_is_system_unit)(void *unit);
  bool (*unit_reader_is_module_unit)(void *unit);
  koine_index_string (*unit_reader_get_main_file)(void *unit);
  koine_index_string (*unit_reader_get_module_name)(void *unit);
  koine_index_string (*unit_reader_get_working_dir)(void *unit);
  koine_index_string (*unit_reader_get_output_file)(void *unit);
  bool (*unit_reader_dependencies_apply_f)(void *unit, void *context, koine_index_visit);

  unsigned (*unit_dependency_get_kind)(void *dependency);
  koine_index_string (*unit_dependency_get_filepath)(void *dependency);
  koine_index_string (*unit_dependency_get_name)(void *dependency);

  void *(*record_reader_create)(void *store, const char *record, void **error);
  void (*record_reader_dispose)(void *record);
  bool (*record_reader_occurrences_apply_f)(void *record, void *context, koine_index_visit);

  void *(*occurrence_get_symbol)(void *occurrence);
  uint64_t (*occurrence_get_roles)(void *occurrence);
  void (*occurrence_get_line_col)(void *occurrence, unsigned *line, unsigned *column);
  bool (*occurrence_relations_apply_f)(void *occurrence, void *context, koine_index_visit);

  void *(*symbol_relation_get_symbol)(void *relation);
  uint64_t (*symbol_relation_get_roles)(void *relation);

  unsigned (*symbol_get_kind)(void *symbol);
  unsigned (*symbol_get_subkind)(void *symbol);
  uint64_t (*symbol_get_properties)(void *symbol);
  koine_index_string (*symbol_get_name)(void *symbol);
  koine_index_string (*symbol_get_usr)(void *symbol);
} koine_index_library;

/// Fills in the functions of a library that `dlopen` has given.
/// - Returns: the name of the first function that the library lacks; NULL if it has them all.
static inline const char *koine_index_library_load(void *handle, koine_index_library *library) {
#define KOINE_FUNCTION(name)                                                                       \
  *(void **)&library->name = dlsym(handle, "indexstore_" #name);                                   \
  if (!library->name) return "indexstore_" #name
  KOINE_FUNCTION(error_get_description);
  KOINE_FUNCTION(error_dispose);
  KOINE_FUNCTION(format_version);
  KOINE_FUNCTION(store_create);
  KOINE_FUNCTION(store_dispose);
  KOINE_FUNCTION(store_units_apply_f);
  KOINE_FUNCTION(store_get_unit_modification_time);
  KOINE_FUNCTION(unit_reader_create);
  KOINE_FUNCTION(unit_reader_dispose);
  KOINE_FUNCTION(unit_reader_get_provider_identifier);
  KOINE_FUNCTION(unit_reader_get_provider_version);
  KOINE_FUNCTION(unit_reader_is_system_unit);
  KOINE_FUNCTION(unit_reader_is_module_unit);
  KOINE_FUNCTION(unit_reader_get_main_file);
  KOINE_FUNCTION(unit_reader_get_module_name);
  KOINE_FUNCTION(unit_reader_get_working_dir);
  KOINE_FUNCTION(unit_reader_get_output_file);
  KOINE_FUNCTION(unit_reader_dependencies_apply_f);
  KOINE_FUNCTION(unit_dependency_get_kind);
  KOINE_FUNCTION(unit_dependency_get_filepath);
  KOINE_FUNCTION(unit_dependency_get_name);
  KOINE_FUNCTION(record_reader_create);
  KOINE_FUNCTION(record_reader_dispose);
  KOINE_FUNCTION(record_reader_occurrences_apply_f);
  KOINE_FUNCTION(occurrence_get_symbol);
  KOINE_FUNCTION(occurrence_get_roles);
  KOINE_FUNCTION(occurrence_get_line_col);
  KOINE_FUNCTION(occurrence_relations_apply_f);
  KOINE_FUNCTION(symbol_relation_get_symbol);
  KOINE_FUNCTION(symbol_relation_get_roles);
  KOINE_FUNCTION(symbol_get_kind);
  KOINE_FUNCTION(symbol_get_subkind);
  KOINE_FUNCTION(symbol_get_properties);
  KOINE_FUNCTION(symbol_get_name);
  KOINE_FUNCTION(symbol_get_usr);
#undef KOINE_FUNCTION
  return NULL;
}

/// Writes the readable form of a mangled name into a buffer, with a zero at its end.
/// - Returns: the length of the whole form, perhaps more than the buffer holds; 0 if the name is not a mangled one.
typedef size_t (*koine_demangle)(const char *mangled, char *buffer, size_t size);

static inline koine_demangle koine_demangle_load(void *handle) {
  koine_demangle function;
  *(void **)&function = dlsym(handle, "swift_demangle_getDemangledName");
  return function;
}

#endif
