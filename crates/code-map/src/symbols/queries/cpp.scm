; C++ alone

(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.interface

(field_declaration
  declarator: [
    (function_declarator)
    (pointer_declarator)
    (reference_declarator)
    (parenthesized_declarator)
  ] @name) @definition.prototype
(field_declaration
  (storage_class_specifier) @_static (#eq? @_static "static")
  declarator: (field_identifier) @name) @definition.constant

(template_declaration
  [
    (class_specifier)
    (struct_specifier)
    (union_specifier)
    (function_definition)
    (declaration)
    (alias_declaration)
    (concept_definition)
    (template_declaration)
  ] @declared) @declaration

(template_declaration) @scope
(lambda_expression) @local.scope
(friend_declaration) @local.scope

(type_parameter_declaration (type_identifier) @local.definition)
(variadic_type_parameter_declaration (type_identifier) @local.definition)
(optional_type_parameter_declaration name: (type_identifier) @local.definition)
(optional_parameter_declaration declarator: (_) @local.definition)
(for_range_loop declarator: (_) @local.definition)
(structured_binding_declarator (identifier) @local.definition)

; References

(call_expression function: (qualified_identifier) @name) @reference.method
(call_expression function: (template_function name: (identifier) @name)) @reference.call
(call_expression
  function: (field_expression
    field: (template_method name: (field_identifier) @name))) @reference.method
(using_declaration (qualified_identifier) @name) @reference.import
(qualified_identifier
  name: (identifier) @name (#match? @name "^[A-Z]")) @reference.member
(qualified_identifier
  scope: (namespace_identifier) @name (#match? @name "^[A-Z]")) @reference.member
