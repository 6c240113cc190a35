; The first pattern that defines a name at a place tells its kind.

(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.class
(union_item name: (type_identifier) @name) @definition.class
(enum_item name: (type_identifier) @name) @definition.enum
(trait_item name: (type_identifier) @name) @definition.interface
(mod_item name: (identifier) @name body: (_)) @definition.module
(macro_definition name: (identifier) @name) @definition.macro
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.constant
(type_item name: (type_identifier) @name) @definition.type

(impl_item type: (_) @name) @container

; Functions have names of their own

(function_item) @local.scope
(const_item value: (block) @local.scope)

(type_parameter name: (type_identifier) @local.definition)
(const_parameter name: (identifier) @local.definition)
(let_declaration pattern: (identifier) @local.definition)
(parameter pattern: (identifier) @local.definition)
(closure_parameters (identifier) @local.definition)
(for_expression pattern: (identifier) @local.definition)
(tuple_pattern (identifier) @local.definition (#match? @local.definition "^[^A-Z]"))
(tuple_struct_pattern
  type: (_) (identifier) @local.definition (#match? @local.definition "^[^A-Z]"))
(match_pattern (identifier) @local.definition (#match? @local.definition "^[^A-Z]"))
(mut_pattern (identifier) @local.definition)
(ref_pattern (identifier) @local.definition)
(reference_pattern (identifier) @local.definition)
(field_pattern pattern: (identifier) @local.definition (#match? @local.definition "^[^A-Z]"))
(shorthand_field_identifier) @local.definition
(associated_type name: (type_identifier) @ignore)
(type_binding name: (type_identifier) @ignore)
(enum_variant name: (identifier) @ignore)
(impl_item body: (declaration_list (type_item name: (type_identifier) @ignore)))

; References

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (scoped_identifier name: (identifier) @name)) @reference.method
(call_expression function: (field_expression field: (field_identifier) @name)) @reference.method
(generic_function function: (identifier) @name) @reference.call
(generic_function function: (scoped_identifier name: (identifier) @name)) @reference.method
(generic_function function: (field_expression field: (field_identifier) @name)) @reference.method
(macro_invocation macro: (identifier) @name) @reference.call
(macro_invocation macro: (scoped_identifier name: (identifier) @name)) @reference.method
(token_tree (identifier) @name . (token_tree)) @reference.call
(use_declaration argument: (identifier) @name) @reference.import
(use_declaration argument: (scoped_identifier name: (identifier) @name)) @reference.import
(use_list (identifier) @name) @reference.import
(use_list (scoped_identifier name: (identifier) @name)) @reference.import
(use_as_clause path: (scoped_identifier name: (identifier) @name)) @reference.import
(use_as_clause path: (identifier) @name) @reference.import

; Types and constants by their capital letter, functions where they are handed on

(type_identifier) @name @reference.value
((identifier) @name (#match? @name "^[A-Z]")) @reference.value
(arguments (identifier) @name) @reference.value
(arguments (scoped_identifier name: (identifier) @name)) @reference.member
