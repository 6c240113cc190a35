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

(method_declaration body: (_) @local.scope)
(constructor_declaration body: (_) @local.scope)
(compact_constructor_declaration body: (_) @local.scope)
(static_initializer (block) @local.scope)
(class_body (block) @local.scope)
(lambda_expression body: (_) @local.scope)
(object_creation_expression (class_body) @local.scope)

; References

(method_invocation name: (identifier) @name) @reference.call
(method_reference (_) (identifier) @name) @reference.call
(type_identifier) @name @reference.type
(annotation name: (identifier) @name) @reference.decorator
(annotation name: (scoped_identifier name: (identifier) @name)) @reference.decorator
(marker_annotation name: (identifier) @name) @reference.decorator
(marker_annotation name: (scoped_identifier name: (identifier) @name)) @reference.decorator
(import_declaration (scoped_identifier name: (identifier) @name)) @reference.import
((identifier) @name (#match? @name "^[A-Z]")) @reference.value
(type_parameter (type_identifier) @local.definition)
