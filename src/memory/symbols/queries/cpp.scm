; C++ alone

(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.interface
(field_declaration declarator: (function_declarator) @name) @definition.method
(field_declaration declarator: (pointer_declarator (function_declarator) @name)) @definition.method
(field_declaration declarator: (reference_declarator (function_declarator) @name)) @definition.method

(template_declaration (_) @declared) @declaration

(lambda_expression body: (_) @local.scope)

; References

(call_expression function: (qualified_identifier) @name) @reference.call
(call_expression function: (template_function name: (identifier) @name)) @reference.call
(call_expression
  function: (field_expression field: (template_method name: (field_identifier) @name))) @reference.call
(using_declaration (qualified_identifier) @name) @reference.import
(qualified_identifier name: (identifier) @name (#match? @name "^[A-Z]")) @reference.value
(qualified_identifier scope: (namespace_identifier) @name (#match? @name "^[A-Z]")) @reference.value
(type_parameter_declaration (type_identifier) @local.definition)
(variadic_type_parameter_declaration (type_identifier) @local.definition)
(optional_type_parameter_declaration name: (type_identifier) @local.definition)
