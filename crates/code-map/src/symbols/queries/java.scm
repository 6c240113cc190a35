; The first pattern that defines a name at a place tells its kind.

(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(method_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(compact_constructor_declaration name: (identifier) @name) @definition.method

(field_declaration
  (modifiers "static" "final")
  declarator: (variable_declarator name: (identifier) @name) @definition.constant)
(field_declaration
  (modifiers "final" "static")
  declarator: (variable_declarator name: (identifier) @name) @definition.constant)
(constant_declaration
  declarator: (variable_declarator name: (identifier) @name) @definition.constant)

(field_declaration declarator: (_) @declared) @declaration
(constant_declaration declarator: (_) @declared) @declaration

; Functions have names of their own

[
  (method_declaration)
  (constructor_declaration)
  (compact_constructor_declaration)
  (static_initializer)
  (lambda_expression)
] @local.scope
(class_body (block) @local.scope)
(object_creation_expression (class_body) @local.scope)
(enum_constant body: (class_body) @local.scope)

(type_parameter (type_identifier) @local.definition)
(formal_parameter name: (identifier) @local.definition)
(catch_formal_parameter name: (identifier) @local.definition)
(enhanced_for_statement name: (identifier) @local.definition)
(resource name: (identifier) @local.definition)
(lambda_expression parameters: (identifier) @local.definition)
(inferred_parameters (identifier) @local.definition)
(type_pattern (identifier) @local.definition)
(instanceof_expression name: (identifier) @local.definition)
(variable_declarator name: (identifier) @local.definition)
(enum_constant name: (identifier) @ignore)
(labeled_statement (identifier) @ignore)
(element_value_pair key: (identifier) @ignore)

; References

(method_invocation name: (identifier) @name) @reference.method
(method_reference (_) (identifier) @name .) @reference.method
(type_identifier) @name @reference.type
(annotation name: (identifier) @name) @reference.decorator
(annotation name: (scoped_identifier name: (identifier) @name)) @reference.member
(marker_annotation name: (identifier) @name) @reference.decorator
(marker_annotation name: (scoped_identifier name: (identifier) @name)) @reference.member
(import_declaration (scoped_identifier name: (identifier) @name)) @reference.import

; Types and constants by their capital letter

(field_access field: (identifier) @name (#match? @name "^[A-Z]")) @reference.member
((identifier) @name (#match? @name "^[A-Z]")) @reference.value
