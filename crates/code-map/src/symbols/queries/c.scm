; C, and what C++ has in common with it.
; The first pattern that defines a name at a place tells its kind.

(function_definition type: (_) declarator: (_) @name) @definition.implementation

; A constructor has no type; nor has `TEST(Suite, Name) {}`, which uses a macro.
(function_definition
  !type declarator: (_) @name
  (#not-match? @name "^[A-Z][A-Z0-9_]*\\s*\\(")) @definition.implementation

(type_definition
  type: [(struct_specifier body: (_)) (union_specifier body: (_))]
  declarator: (type_identifier) @name) @definition.class
(type_definition
  type: (enum_specifier body: (_))
  declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (_) @name) @definition.type
(struct_specifier name: (_) @name body: (_)) @definition.class
(union_specifier name: (_) @name body: (_)) @definition.class
(enum_specifier name: (_) @name body: (_)) @definition.enum

(preproc_function_def name: (identifier) @name) @definition.macro

; A guard against a second inclusion is no constant.
(preproc_def
  name: (identifier) @name (#not-match? @name "_(H|HH|HPP|HXX|INCLUDED)_*$")
  value: (_)) @definition.macro

(declaration declarator: (_) @name) @definition.declaration

; Functions have names of their own

(function_definition) @local.scope
(compound_statement) @local.scope

(parameter_declaration declarator: (_) @local.definition)
(enumerator name: (identifier) @ignore)
(preproc_def name: (identifier) @ignore)
(preproc_params (identifier) @ignore)
(attribute_specifier (argument_list (identifier) @ignore))
(preproc_ifdef name: (identifier) @ignore (#match? @ignore "_(H|HH|HPP|HXX|INCLUDED)_*$"))

; References

(call_expression function: (identifier) @name) @reference.call
(function_definition
  !type declarator: (function_declarator declarator: (identifier) @name)
  (#match? @name "^[A-Z][A-Z0-9_]*$")) @reference.call
(call_expression function: (field_expression field: (field_identifier) @name)) @reference.method
(type_identifier) @name @reference.type

; Types and constants by their capital letter, functions where they are handed on

((identifier) @name (#match? @name "^[A-Z]")) @reference.value
(argument_list (identifier) @name) @reference.value
(initializer_list (identifier) @name) @reference.value
(initializer_pair value: (identifier) @name) @reference.value
(init_declarator value: (identifier) @name) @reference.value
(assignment_expression right: (identifier) @name) @reference.value
(pointer_expression argument: (identifier) @name) @reference.value
