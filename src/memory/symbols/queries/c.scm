; C, and what C++ has in common with it.
; The first pattern that defines a name at a place tells its kind.

(function_definition declarator: (_) @name) @definition.function

(struct_specifier name: (_) @name body: (_)) @definition.class
(union_specifier name: (_) @name body: (_)) @definition.class
(enum_specifier name: (_) @name body: (_)) @definition.enum
(type_definition declarator: (_) @name) @definition.type
(preproc_function_def name: (identifier) @name) @definition.macro
(preproc_def name: (identifier) @name value: (_)) @definition.macro
(declaration declarator: (_) @name) @definition.declaration

(compound_statement) @local.scope

; References

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression field: (field_identifier) @name)) @reference.call
(type_identifier) @name @reference.type
((identifier) @name (#match? @name "^[A-Z]")) @reference.value
